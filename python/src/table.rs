// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A table, as Python sees it.

use std::sync::Arc;

use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use weir::tables::{Column, Kind, Table, Values};

use crate::arrow;

/// Columns of a run, readable by whatever speaks Arrow: `pyarrow.table(t)`, `polars.DataFrame(t)`, `pandas.DataFrame.from_arrow(t)`.
#[pyclass(name = "Table", module = "runweir", frozen)]
pub struct PyTable {
    pub table: Arc<Table>,
    /// Names of the tasks by their numbers, for tables that have only these.
    pub names: Option<Arc<[String]>>,
}

#[pymethods]
impl PyTable {
    /// The table as an Arrow stream; chunks are handed over without a copy of what they hold.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The protocol lets a producer ignore what it cannot do.
        drop(requested_schema);
        let names = self.named().map(|at| (at, self.names.clone().expect("they are there")));
        PyCapsule::new_with_value(py, arrow::stream(&self.table, names), c"arrow_array_stream")
    }

    fn __len__(&self) -> usize {
        self.table.rows()
    }

    /// Names of the columns; times end with their unit.
    #[getter]
    fn column_names(&self) -> Vec<&'static str> {
        let mut all: Vec<&'static str> = self.table.fields.iter().map(|f| f.name).collect();
        if let Some(at) = self.named() {
            all.insert(at + 1, "name");
        }
        all
    }

    /// `t["cpu"]`: the values of a column; `t[0]`: a row as a dictionary; `t[-1]`: the last.
    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(name) = key.extract::<String>() {
            return Ok(self.column(py, &name)?.into_any());
        }
        let rows = self.table.rows() as i64;
        let at = key.extract::<i64>()?;
        let row = if at < 0 { rows + at } else { at };
        if !(0..rows).contains(&row) {
            return Err(PyIndexError::new_err(format!("there is no row {at}: the table has {rows}")));
        }
        Ok(self.row(py, row as usize)?.into_any())
    }

    /// As a data frame of pandas. Times are `timedelta64[ns]`; numbers of ns with `timedelta=False`.
    #[pyo3(signature = (*, timedelta=true))]
    fn to_pandas<'py>(slf: &Bound<'py, Self>, timedelta: bool) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("runweir.frames")?.call_method1("to_pandas", (slf, timedelta))
    }

    /// As a data frame of polars. Times are `Duration("ns")`; numbers of ns with `duration=False`.
    #[pyo3(signature = (*, duration=true))]
    fn to_polars<'py>(slf: &Bound<'py, Self>, duration: bool) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("runweir.frames")?.call_method1("to_polars", (slf, duration))
    }

    /// Bytes that the values take.
    #[getter]
    fn nbytes(&self) -> usize {
        self.table.bytes()
    }

    /// The values of a column as a list: for small tables.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        if let (Some(at), "name") = (self.named(), name) {
            let list = PyList::empty(py);
            for chunk in &self.table.chunks {
                for row in 0..chunk.rows {
                    list.append(self.name(&chunk.columns[at], row))?;
                }
            }
            return Ok(list);
        }
        let Some(i) = self.table.fields.iter().position(|f| f.name == name) else {
            let names = self.column_names();
            let help = py.import("runweir.texts")?.call_method1("did_you_mean", (name, names))?;
            return Err(PyKeyError::new_err(format!("there is no column {name:?}; {}", help.extract::<String>()?)));
        };
        let list = PyList::empty(py);
        for chunk in &self.table.chunks {
            for row in 0..chunk.rows {
                list.append(self.cell(py, &chunk.columns[i], i, row)?)?;
            }
        }
        Ok(list)
    }

    /// The first rows, as dictionaries.
    #[pyo3(signature = (n=10))]
    fn head<'py>(&self, py: Python<'py>, n: usize) -> PyResult<Vec<Bound<'py, PyDict>>> {
        (0..n.min(self.table.rows())).map(|row| self.row(py, row)).collect()
    }

    fn __repr__(&self) -> String {
        format!("<runweir.Table of {} rows: {}>", self.table.rows(), self.column_names().join(", "))
    }
}

impl PyTable {
    /// The column of numbers of tasks that names stand beside.
    fn named(&self) -> Option<usize> {
        let has = |name: &str| self.table.fields.iter().position(|f| f.name == name);
        self.names.as_ref()?;
        if has("name").is_some() { None } else { has("task") }
    }

    fn name(&self, column: &Column, row: usize) -> &str {
        let (Values::U32(tasks), Some(names)) = (&column.values, &self.names) else { return "" };
        names.get(tasks[row] as usize).map_or("", String::as_str)
    }

    /// A row as a dictionary.
    fn row<'py>(&self, py: Python<'py>, mut row: usize) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for chunk in &self.table.chunks {
            if row >= chunk.rows {
                row -= chunk.rows;
                continue;
            }
            for (i, field) in self.table.fields.iter().enumerate() {
                dict.set_item(field.name, self.cell(py, &chunk.columns[i], i, row)?)?;
                if self.named() == Some(i) {
                    dict.set_item("name", self.name(&chunk.columns[i], row))?;
                }
            }
            break;
        }
        Ok(dict)
    }

    fn cell<'py>(&self, py: Python<'py>, c: &Column, i: usize, row: usize) -> PyResult<Bound<'py, PyAny>> {
        if c.nulls.get(row).copied().unwrap_or(false) {
            return Ok(py.None().into_bound(py));
        }
        Ok(match &c.values {
            Values::U32(v) => v[row].into_pyobject(py)?.into_any(),
            Values::U64(v) => v[row].into_pyobject(py)?.into_any(),
            Values::F64(v) => v[row].into_pyobject(py)?.into_any(),
            Values::Bool(v) => v[row].into_pyobject(py)?.to_owned().into_any(),
            Values::Text(v) => (&*v[row]).into_pyobject(py)?.into_any(),
            Values::Word(v) => match self.table.fields[i].kind {
                Kind::Word(words) => words[v[row] as usize].into_pyobject(py)?.into_any(),
                _ => py.None().into_bound(py),
            },
        })
    }
}
