// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A table, as Python sees it.

use std::sync::Arc;

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use weir::tables::{Column, Kind, Table, Values};

use crate::arrow;

/// Columns of a run, readable by whatever speaks Arrow: `pyarrow.table(t)`, `polars.DataFrame(t)`, `pandas.DataFrame.from_arrow(t)`.
#[pyclass(name = "Table", module = "runweir", frozen)]
pub struct PyTable(pub Arc<Table>);

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
        PyCapsule::new_with_value(py, arrow::stream(&self.0), c"arrow_array_stream")
    }

    fn __len__(&self) -> usize {
        self.0.rows()
    }

    /// Names of the columns; times end with their unit.
    #[getter]
    fn column_names(&self) -> Vec<&'static str> {
        self.0.fields.iter().map(|f| f.name).collect()
    }

    /// Bytes that the values take.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.bytes()
    }

    /// The values of a column as a list: for small tables.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let Some(i) = self.0.fields.iter().position(|f| f.name == name) else {
            return Err(PyKeyError::new_err(format!(
                "there is no column {name:?}; there are {}",
                self.column_names().join(", ")
            )));
        };
        let list = PyList::empty(py);
        for chunk in &self.0.chunks {
            for row in 0..chunk.rows {
                list.append(self.cell(py, &chunk.columns[i], i, row)?)?;
            }
        }
        Ok(list)
    }

    /// The first rows, as dictionaries.
    #[pyo3(signature = (n=10))]
    fn head<'py>(&self, py: Python<'py>, n: usize) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let mut out = Vec::new();
        for chunk in &self.0.chunks {
            for row in 0..chunk.rows {
                if out.len() == n {
                    return Ok(out);
                }
                let dict = PyDict::new(py);
                for (i, field) in self.0.fields.iter().enumerate() {
                    dict.set_item(field.name, self.cell(py, &chunk.columns[i], i, row)?)?;
                }
                out.push(dict);
            }
        }
        Ok(out)
    }

    fn __repr__(&self) -> String {
        format!("<runweir.Table of {} rows: {}>", self.0.rows(), self.column_names().join(", "))
    }
}

impl PyTable {
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
            Values::Word(v) => match self.0.fields[i].kind {
                Kind::Word(words) => words[v[row] as usize].into_pyobject(py)?.into_any(),
                _ => py.None().into_bound(py),
            },
        })
    }
}
