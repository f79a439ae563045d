// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The events of a run as tables: jobs, slices and waits while it runs; tasks, pipes and CPUs from its summary.
//!
//! Columns are plain vectors in chunks of up to a million rows, as Arrow has them: a slice takes 33 bytes, and nothing is
//! copied as a table grows.

mod events;
mod summary;

use std::sync::Arc;

pub use events::{Collector, Wanted};
pub use summary::{cpus, pipes, tasks};

/// Rows of a full chunk.
pub const CHUNK: usize = 1 << 20;

/// Values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    U32(Vec<u32>),
    U64(Vec<u64>),
    F64(Vec<f64>),
    Bool(Vec<bool>),
    Text(Vec<Box<str>>),
    /// Index into the column's words.
    Word(Vec<u8>),
}

/// A column of a chunk. Where `nulls` is not empty, it has an entry per row: true where there is no value.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub values: Values,
    pub nulls: Vec<bool>,
}

/// A column's name and type. Names of times end with their unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: &'static str,
    pub kind: Kind,
    pub nullable: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    U32,
    U64,
    F64,
    Bool,
    Text,
    /// One of a few words.
    Word(&'static [&'static str]),
}

/// Rows that lie together.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    pub columns: Vec<Column>,
    pub rows: usize,
}

/// A table: fields, and immutable chunks of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub fields: Arc<[Field]>,
    pub chunks: Vec<Arc<Chunk>>,
}

impl Table {
    /// Rows of all chunks.
    pub fn rows(&self) -> usize {
        self.chunks.iter().map(|c| c.rows).sum()
    }

    /// Bytes that the values take.
    pub fn bytes(&self) -> usize {
        let of = |c: &Column| {
            c.nulls.len()
                + match &c.values {
                    Values::U32(v) => 4 * v.len(),
                    Values::U64(v) => 8 * v.len(),
                    Values::F64(v) => 8 * v.len(),
                    Values::Bool(v) => v.len(),
                    Values::Word(v) => v.len(),
                    Values::Text(v) => v.iter().map(|t| t.len() + 16).sum(),
                }
        };
        self.chunks.iter().flat_map(|c| &c.columns).map(of).sum()
    }
}

/// A table that grows.
#[derive(Debug)]
pub(crate) struct Builder {
    fields: Arc<[Field]>,
    done: Vec<Arc<Chunk>>,
    open: Vec<Column>,
    rows: usize,
}

impl Builder {
    pub fn new(fields: &[Field]) -> Self {
        Self { fields: fields.into(), done: Vec::new(), open: fields.iter().map(empty).collect(), rows: 0 }
    }

    /// One row; `cells` are in the order of the fields.
    #[inline]
    pub fn row(&mut self, cells: &[Cell<'_>]) {
        debug_assert_eq!(cells.len(), self.open.len());
        for (column, cell) in self.open.iter_mut().zip(cells) {
            column.push(cell);
        }
        self.rows += 1;
        if self.rows == CHUNK {
            self.seal();
        }
    }

    fn seal(&mut self) {
        let fresh = self.fields.iter().map(empty).collect();
        let columns = std::mem::replace(&mut self.open, fresh);
        self.done.push(Arc::new(Chunk { columns, rows: self.rows }));
        self.rows = 0;
    }

    pub fn finish(mut self) -> Table {
        if self.rows > 0 {
            self.seal();
        }
        Table { fields: self.fields, chunks: self.done }
    }
}

/// A value of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cell<'a> {
    U32(u32),
    U64(u64),
    F64(f64),
    Bool(bool),
    Text(&'a str),
    Word(u8),
    Null,
}

impl Cell<'_> {
    pub fn of_u32(value: Option<u32>) -> Self {
        value.map_or(Cell::Null, Cell::U32)
    }

    pub fn of_u64(value: Option<u64>) -> Self {
        value.map_or(Cell::Null, Cell::U64)
    }
}

fn empty(field: &Field) -> Column {
    let values = match field.kind {
        Kind::U32 => Values::U32(Vec::new()),
        Kind::U64 => Values::U64(Vec::new()),
        Kind::F64 => Values::F64(Vec::new()),
        Kind::Bool => Values::Bool(Vec::new()),
        Kind::Text => Values::Text(Vec::new()),
        Kind::Word(_) => Values::Word(Vec::new()),
    };
    Column { values, nulls: Vec::new() }
}

impl Column {
    fn len(&self) -> usize {
        match &self.values {
            Values::U32(v) => v.len(),
            Values::U64(v) => v.len(),
            Values::F64(v) => v.len(),
            Values::Bool(v) => v.len(),
            Values::Text(v) => v.len(),
            Values::Word(v) => v.len(),
        }
    }

    #[inline]
    fn push(&mut self, cell: &Cell<'_>) {
        if matches!(cell, Cell::Null) {
            if self.nulls.is_empty() {
                self.nulls.resize(self.len(), false);
            }
            self.nulls.push(true);
        } else if !self.nulls.is_empty() {
            self.nulls.push(false);
        }
        match (&mut self.values, cell) {
            (Values::U32(v), Cell::U32(n)) => v.push(*n),
            (Values::U64(v), Cell::U64(n)) => v.push(*n),
            (Values::F64(v), Cell::F64(n)) => v.push(*n),
            (Values::Bool(v), Cell::Bool(n)) => v.push(*n),
            (Values::Text(v), Cell::Text(t)) => v.push((*t).into()),
            (Values::Word(v), Cell::Word(n)) => v.push(*n),
            (Values::U32(v), Cell::Null) => v.push(0),
            (Values::U64(v), Cell::Null) => v.push(0),
            (Values::F64(v), Cell::Null) => v.push(0.0),
            (Values::Bool(v), Cell::Null) => v.push(false),
            (Values::Text(v), Cell::Null) => v.push("".into()),
            (Values::Word(v), Cell::Null) => v.push(0),
            (_, cell) => unreachable!("a column does not take {cell:?}"),
        }
    }
}

pub(crate) const fn field(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, nullable: false }
}

pub(crate) const fn nullable(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, nullable: true }
}
