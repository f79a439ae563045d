// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The system knowledge base (source 1, 1.5): facts about a machine and what runs on it, in an embedded SQLite database, and queries
//! by name or in SQL. Programs, monitors and people ask it where to place something and how to route a message.
//!
//! Facts from outside (a file of statements, a saved base) are data: they reach no file and no other database, and a query changes
//! nothing.

mod devices;
mod facts;
mod layout;
mod queries;

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Params};
use serde::Serialize;
use serde_json::{Map, Value, json};
use weir_core::CpuSet;

use crate::fault::{Fault, Result};

pub use facts::{Gang, Policy, Program, Thread, busy};
pub use queries::{Query, all as queries};

const SCHEMA: &str = include_str!("schema.sql");
/// Marks a saved base, and its layout: `PRAGMA application_id` and `user_version`.
const MARK: i32 = 0x7765_6972;
const VERSION: i32 = 1;
/// No query takes longer.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 10 });
/// Instructions of SQLite's machine between two looks at the clock.
const LOOK: i32 = 10_000;

/// The facts.
pub struct Base {
    db: Connection,
}

/// What a query found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Table {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Value>>,
}

impl Table {
    /// Each row as an object.
    pub fn objects(&self) -> Vec<Map<String, Value>> {
        let object = |row: &Vec<Value>| self.columns.iter().cloned().zip(row.iter().cloned()).collect();
        self.rows.iter().map(object).collect()
    }

    /// The numbers of a column.
    pub fn numbers(&self, column: &str) -> Vec<u32> {
        let Some(at) = self.columns.iter().position(|c| c == column) else { return Vec::new() };
        self.rows.iter().filter_map(|r| r[at].as_u64()?.try_into().ok()).collect()
    }
}

/// What the statements that are prepared next may do.
#[derive(Clone, Copy)]
enum Right {
    /// Read.
    Query,
    /// Read, and change rows.
    Facts,
}

/// The aggregate `cpus(cpu)`: a set of CPUs as people write it, `0-3,8`.
struct Cpus;

impl Aggregate<Vec<u32>, String> for Cpus {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<Vec<u32>> {
        Ok(Vec::new())
    }

    fn step(&self, ctx: &mut Context<'_>, acc: &mut Vec<u32>) -> rusqlite::Result<()> {
        acc.extend(ctx.get::<Option<u32>>(0)?);
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, acc: Option<Vec<u32>>) -> rusqlite::Result<String> {
        Ok(acc.unwrap_or_default().into_iter().collect::<CpuSet>().to_string())
    }
}

impl Base {
    /// Without facts.
    ///
    /// # Errors
    /// No memory.
    pub fn new() -> Result<Self> {
        let db = Connection::open_in_memory().map_err(|e| broken(&e))?;
        let ready = db
            .execute_batch(SCHEMA)
            .and_then(|()| db.pragma_update(None, "application_id", MARK))
            .and_then(|()| db.pragma_update(None, "user_version", VERSION));
        ready.map_err(|e| broken(&e))?;
        Self::guarded(db)
    }

    /// The facts that [`Base::save`] has written.
    ///
    /// # Errors
    /// The file is missing or is not a base.
    pub fn open(file: &Path) -> Result<Self> {
        let shown = file.display();
        let strange = |why: String| {
            Fault::user(
                format!("`{shown}` is not a knowledge base: {why}"),
                "name a file that `runweir ask --save FILE` wrote",
            )
        };
        if !file.is_file() {
            return Err(strange("there is no such file".into()));
        }
        let db = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)
            .map_err(|e| strange(e.to_string()))?;
        let number = |name| db.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
        let (mark, version) = (number("application_id"), number("user_version"));
        match (mark.map_err(|e| strange(e.to_string()))?, version.map_err(|e| strange(e.to_string()))?) {
            (MARK, VERSION) => {}
            (MARK, other) => {
                return Err(strange(format!("it has layout {other}, and this program knows {VERSION}")));
            }
            _ => return Err(strange("it lacks the mark of one".into())),
        }
        Self::guarded(db)
    }

    fn guarded(db: Connection) -> Result<Self> {
        let set = || {
            // A view of a file that others wrote may call no function that reaches beyond the database.
            db.pragma_update(None, "trusted_schema", false)?;
            db.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
            let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
            db.create_aggregate_function("cpus", 1, flags, Cpus)
        };
        set().map_err(|e: rusqlite::Error| broken(&e))?;
        Ok(Self { db })
    }

    /// Write the facts into a file, which is replaced: any program with SQLite can read it, and [`Base::open`].
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save(&self, file: &Path) -> Result<()> {
        let fails = |why: String| {
            Fault::user(
                format!("`{}` cannot be written: {why}", file.display()),
                "name a file in a folder of yours",
            )
        };
        let folder = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let beside = tempfile::Builder::new().prefix(".runweir-").tempfile_in(folder);
        let beside = beside.map_err(|e| fails(e.to_string()))?;
        self.db
            .backup(rusqlite::MAIN_DB, beside.path(), None::<fn(rusqlite::backup::Progress)>)
            .map_err(|e| fails(e.to_string()))?;
        beside.persist(file).map(drop).map_err(|e| fails(e.error.to_string()))
    }

    /// Add or correct facts: SQL statements that insert, update and delete rows. All of them are done, or none.
    ///
    /// # Errors
    /// A statement is wrong, or does something else.
    pub fn tell(&mut self, name: &str, statements: &str) -> Result<()> {
        self.allow(Right::Facts)?;
        let done = self.db.execute_batch(&format!("BEGIN; {statements}\n; COMMIT"));
        if done.is_err() {
            // Nothing was begun where the first statement is already wrong.
            let _ = self.db.execute_batch("ROLLBACK");
        }
        done.map_err(|e| {
            Fault::user(
                format!("{name}: {}", words(&e)),
                "facts are INSERT, UPDATE and DELETE statements for the tables that `runweir ask` lists",
            )
        })
    }

    /// Answer a query in SQL.
    ///
    /// # Errors
    /// It is no query, or takes too long.
    pub fn select(&mut self, sql: &str) -> Result<Table> {
        self.allow(Right::Query)?;
        self.table(sql, []).map_err(|e| {
            Fault::user(
                format!("the query fails: {}", words(&e)),
                "`runweir ask` lists the tables and their columns; docs/knowledge.md has examples",
            )
        })
    }

    /// Answer a query of the catalogue, by name.
    ///
    /// # Errors
    /// There is no such query, or its arguments are wrong.
    pub fn ask(&mut self, name: &str, args: &[String]) -> Result<Table> {
        queries::answer(self, name, args)
    }

    /// Tables and views, each with its columns.
    ///
    /// # Errors
    /// A bug.
    pub fn tables(&mut self) -> Result<Vec<(String, Vec<String>)>> {
        let names = self
            .table("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY type, rowid", []);
        let names = names.map_err(|e| broken(&e))?;
        let columns = |name: &str| {
            let read = self.db.prepare(&format!("SELECT * FROM {name}"));
            read.map(|s| s.column_names().map(String::from).collect()).map_err(|e| broken(&e))
        };
        let name = |row: &Vec<Value>| row[0].as_str().unwrap_or_default().to_string();
        names.rows.iter().map(name).map(|n| columns(&n).map(|c| (n, c))).collect()
    }

    /// From now on, statements have these rights, and so much time.
    fn allow(&mut self, right: Right) -> Result<()> {
        let may = move |ctx: AuthContext<'_>| match (ctx.action, right) {
            (AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive, _)
            | (AuthAction::Function { .. }, _)
            | (
                AuthAction::Insert { .. } | AuthAction::Update { .. } | AuthAction::Delete { .. },
                Right::Facts,
            )
            | (AuthAction::Transaction { .. }, Right::Facts) => Authorization::Allow,
            _ => Authorization::Deny,
        };
        let until = Instant::now() + PATIENCE;
        self.db
            .authorizer(Some(may))
            .and_then(|()| self.db.progress_handler(LOOK, Some(move || Instant::now() > until)))
            .map_err(|e| broken(&e))
    }

    fn table(&self, sql: &str, params: impl Params) -> rusqlite::Result<Table> {
        let mut statement = self.db.prepare(sql)?;
        let columns: Vec<String> = statement.column_names().map(String::from).collect();
        let mut rows = statement.query(params)?;
        let mut table = Table { columns, rows: Vec::new() };
        while let Some(row) = rows.next()? {
            let value = |i| row.get_ref(i).map(value_of);
            table.rows.push((0..table.columns.len()).map(value).collect::<rusqlite::Result<_>>()?);
        }
        Ok(table)
    }
}

fn value_of(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(i) => json!(i),
        ValueRef::Real(r) => json!(r),
        ValueRef::Text(t) => json!(String::from_utf8_lossy(t)),
        ValueRef::Blob(b) => json!(b),
    }
}

/// In the words of this page, not of the library.
fn words(e: &rusqlite::Error) -> String {
    match e.sqlite_error_code() {
        Some(rusqlite::ErrorCode::AuthorizationForStatementDenied) => "it is not allowed to do that".into(),
        Some(rusqlite::ErrorCode::OperationInterrupted) => {
            format!("it takes longer than {} s", PATIENCE.as_secs())
        }
        _ => e.to_string(),
    }
}

fn broken(e: &rusqlite::Error) -> Fault {
    Fault::system(format!("the knowledge base fails: {e}"), "this is a bug in runweir; please report it")
}

#[cfg(test)]
mod tests;
