// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The Python face of the crate `weir`: reads arguments, calls, hands results over. Nothing is computed here.

mod arrow;
mod calls;
mod fault;
mod table;
mod work;

use pyo3::prelude::*;

/// The module `runweir._native`; its users see `runweir`.
#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    weir::code::allowed_by("if you trust it, let files load what they name: allow_code=True");
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add("InputError", m.py().get_type::<fault::InputError>())?;
    m.add("SystemFault", m.py().get_type::<fault::SystemFault>())?;
    m.add_class::<table::PyTable>()?;
    m.add_class::<calls::PyRun>()?;
    m.add_class::<calls::PyExplainer>()?;
    m.add_function(wrap_pyfunction!(calls::run, m)?)?;
    m.add_function(wrap_pyfunction!(calls::compare, m)?)?;
    m.add_function(wrap_pyfunction!(calls::sweep, m)?)?;
    m.add_function(wrap_pyfunction!(calls::check, m)?)?;
    m.add_function(wrap_pyfunction!(calls::contention, m)?)?;
    m.add_function(wrap_pyfunction!(calls::schedulability, m)?)?;
    m.add_function(wrap_pyfunction!(calls::import_trace, m)?)?;
    m.add_function(wrap_pyfunction!(calls::tune, m)?)?;
    m.add_function(wrap_pyfunction!(calls::guard, m)?)?;
    m.add_function(wrap_pyfunction!(calls::gantt, m)?)?;
    m.add_function(wrap_pyfunction!(calls::drawing, m)?)?;
    m.add_function(wrap_pyfunction!(calls::catalogue, m)?)?;
    Ok(())
}
