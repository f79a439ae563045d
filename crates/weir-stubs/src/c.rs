// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Stubs in C: a header and a source file, over `runtimes/multikernel/stub.h`.

use std::fmt::Write as _;

use crate::interface::{Field, Interface, Item, Message, Record, Scalar, Side, Type};

const NOTICE: &str = "/* Made by `runweir stubs`. Change the interface file instead. */\n";

/// The C type of a scalar, in the words of `port.h` where it has one.
fn scalar(s: Scalar) -> &'static str {
    match s {
        Scalar::U8 => "u8",
        Scalar::U16 => "u16",
        Scalar::U32 => "u32",
        Scalar::U64 => "u64",
        Scalar::I8 => "signed char",
        Scalar::I16 => "short",
        Scalar::I32 => "s32",
        Scalar::I64 => "s64",
        Scalar::Bool => "_Bool",
        Scalar::F32 => "float",
        Scalar::F64 => "double",
    }
}

/// The header and the source file.
pub fn emit(interface: &Interface) -> (String, String) {
    (header(interface), source(interface))
}

struct Names<'a> {
    interface: &'a Interface,
    upper: String,
}

impl<'a> Names<'a> {
    fn new(interface: &'a Interface) -> Self {
        Self { interface, upper: interface.name.to_uppercase() }
    }

    fn record(&self, r: &Record) -> String {
        format!("struct {}_{}", self.interface.name, r.name)
    }

    fn item(&self, item: Item) -> String {
        match item {
            Item::Scalar(s) => scalar(s).to_string(),
            Item::Record(r) => self.record(&self.interface.records[r]),
        }
    }

    /// As parameters of a function, each with a comma before it.
    fn parameters(&self, args: &[Field]) -> String {
        let mut text = String::new();
        for a in args {
            let name = &a.name;
            let _ = match a.kind {
                Type::One(Item::Scalar(s)) => write!(text, ", {} {name}", scalar(s)),
                Type::One(item) => write!(text, ", const {} *{name}", self.item(item)),
                Type::List(item, _) => write!(text, ", const {} *{name}, u32 {name}_len", self.item(item)),
                Type::Text(_) => write!(text, ", const char *{name}, u32 {name}_len"),
            };
        }
        text
    }
}

fn comment(out: &mut String, indent: &str, text: &str) {
    if !text.is_empty() {
        let _ = writeln!(out, "{indent}/* {} */", text.split_whitespace().collect::<Vec<_>>().join(" "));
    }
}

fn from(m: &Message) -> &'static str {
    match m.from {
        Side::Client => "The client's. ",
        Side::Server => "The server's. ",
        Side::Both => "",
    }
}

fn header(interface: &Interface) -> String {
    let names = Names::new(interface);
    let (name, upper) = (&interface.name, &names.upper);
    let max = interface.longest().next_multiple_of(8);
    let mut h = String::from(NOTICE);
    comment(&mut h, "", &interface.about);
    let _ = writeln!(h, "#ifndef {upper}_STUBS_H\n#define {upper}_STUBS_H\n\n#include \"stub.h\"\n");
    let _ = writeln!(h, "#define {upper}_VERSION {}u", interface.version);
    let _ = writeln!(h, "#define {upper}_HASH 0x{:016x}ull", interface.hash());
    let _ = writeln!(h, "/* Of the longest message. */\n#define {upper}_BYTES {max}u");
    for m in &interface.messages {
        for a in &m.args {
            if let Type::List(_, n) | Type::Text(n) = a.kind {
                let _ = writeln!(
                    h,
                    "#define {upper}_{}_{}_MAX {n}u",
                    m.name.to_uppercase(),
                    a.name.to_uppercase()
                );
            }
        }
    }
    h.push('\n');
    for r in &interface.records {
        comment(&mut h, "", &r.about);
        let tag = names.record(r);
        let _ = writeln!(h, "{tag} {{");
        for (field, s) in &r.fields {
            let _ = writeln!(h, "\t{} {field};", scalar(*s));
        }
        let _ = writeln!(h, "}};\n_Static_assert(sizeof({tag}) == {}, \"as on the wire\");", r.bytes());
        for ((field, _), at) in r.fields.iter().zip(r.offsets()) {
            let _ = writeln!(
                h,
                "_Static_assert(__builtin_offsetof({tag}, {field}) == {at}, \"as on the wire\");"
            );
        }
        h.push('\n');
    }
    let _ = writeln!(
        h,
        "struct {name};\n\n\
         /*\n * What is called for a message, by {name}_poll(). Texts, lists and records are valid until it returns. 0: done;\n \
         * -WEIR_EAGAIN: not now, call again at the next poll; anything else ends the binding. Null: such a message ends it.\n */\n\
         struct {name}_handlers {{"
    );
    for m in &interface.messages {
        comment(&mut h, "\t", &format!("{}{}", from(m), m.about));
        let _ = writeln!(h, "\tint (*{})(struct {name} *b, void *ctx{});", m.name, names.parameters(&m.args));
    }
    let _ = writeln!(
        h,
        "}};\n\n\
         struct {name} {{\n\tstruct stub stub;\n\tconst struct {name}_handlers *handlers;\n\tvoid *ctx;\n\tint server;\n\
         \tu64 out[{upper}_BYTES / 8];\n\tu64 in[{upper}_BYTES / 8];\n}};\n\n\
         /* One end; the greeting goes with the first message or poll. @server 0: the client's. */\n\
         void {name}_open(struct {name} *b, int server, const struct stub_transport *transport, void *end,\n\
         \t\tconst struct {name}_handlers *handlers, void *ctx);\n\n\
         /* Send what waits, call continuations and handlers. How many were called, or below 0: what ended the binding (b->stub.fault). */\n\
         int {name}_poll(struct {name} *b);\n\n\
         /*\n * Send. 0: it is on its way, and @then is called when its last fragment has gone; -WEIR_EAGAIN: busy, one is on its way\n \
         * still; -WEIR_EINVAL: too long, or not of this side, or no UTF-8.\n */"
    );
    for m in &interface.messages {
        comment(&mut h, "", &format!("{}{}", from(m), m.about));
        let _ = writeln!(
            h,
            "int {name}_send_{}(struct {name} *b, struct stub_then then{});",
            m.name,
            names.parameters(&m.args)
        );
    }
    h.push_str("\n#endif\n");
    h
}

fn source(interface: &Interface) -> String {
    let names = Names::new(interface);
    let (name, upper) = (&interface.name, &names.upper);
    let mut c = String::from(NOTICE);
    let _ = writeln!(c, "#include \"{name}.h\"\n");
    let _ = writeln!(
        c,
        "void {name}_open(struct {name} *b, int server, const struct stub_transport *transport, void *end,\n\
         \t\tconst struct {name}_handlers *handlers, void *ctx)\n{{\n\
         \tstub_init(&b->stub, transport, end, {upper}_HASH, b->out, b->in, {upper}_BYTES);\n\
         \tb->handlers = handlers;\n\tb->ctx = ctx;\n\tb->server = server != 0;\n}}\n"
    );
    for m in &interface.messages {
        send(&mut c, &names, m);
    }
    for m in &interface.messages {
        receive(&mut c, &names, m);
    }
    let _ = writeln!(
        c,
        "int {name}_poll(struct {name} *b)\n{{\n\tstruct stub_cursor c;\n\tint err, done = 0;\n\tu32 number;\n\n\
         \terr = stub_push(&b->stub);\n\tif (err && err != -WEIR_EAGAIN)\n\t\treturn err;\n\
         \tdone += stub_continue(&b->stub);\n\
         \twhile ((err = stub_next(&b->stub, &number, &c)) > 0) {{\n\t\tswitch (number) {{"
    );
    for m in &interface.messages {
        let _ = writeln!(
            c,
            "\t\tcase {}:\n\t\t\terr = {name}_received_{}(b, &c);\n\t\t\tbreak;",
            m.number, m.name
        );
    }
    let _ = writeln!(
        c,
        "\t\tdefault:\n\t\t\terr = stub_end(&b->stub, -WEIR_EINVAL, \"a message has an unknown number\");\n\t\t}}\n\
         \t\tif (err == -WEIR_EAGAIN)\n\t\t\treturn done;\n\
         \t\tif (err)\n\t\t\treturn stub_end(&b->stub, err, \"a handler failed\");\n\
         \t\tstub_done(&b->stub);\n\t\tdone++;\n\t}}\n\treturn err ? err : done;\n}}"
    );
    c
}

fn send(c: &mut String, names: &Names<'_>, m: &Message) {
    let name = &names.interface.name;
    let _ = writeln!(
        c,
        "int {name}_send_{}(struct {name} *b, struct stub_then then{})\n{{\n\tstruct stub_cursor c;\n\tint err;\n",
        m.name,
        names.parameters(&m.args)
    );
    match m.from {
        Side::Client => c.push_str("\tif (b->server)\n\t\treturn -WEIR_EINVAL;\n"),
        Side::Server => c.push_str("\tif (!b->server)\n\t\treturn -WEIR_EINVAL;\n"),
        Side::Both => {}
    }
    for a in &m.args {
        let arg = &a.name;
        let _ = match a.kind {
            Type::One(_) => Ok(()),
            Type::List(_, n) => writeln!(c, "\tif ({arg}_len > {n}u)\n\t\treturn -WEIR_EINVAL;"),
            Type::Text(n) => writeln!(
                c,
                "\tif ({arg}_len > {n}u || !stub_utf8((const u8 *){arg}, {arg}_len))\n\t\treturn -WEIR_EINVAL;"
            ),
        };
    }
    c.push_str("\terr = stub_begin(&b->stub, &c);\n\tif (err)\n\t\treturn err;\n");
    for a in &m.args {
        let arg = &a.name;
        let _ = match a.kind {
            Type::One(Item::Scalar(s)) => {
                writeln!(c, "\tstub_put(&c, &{arg}, {0}, {0});", s.bytes())
            }
            Type::One(Item::Record(r)) => {
                put_records(c, &names.interface.records[r], arg, "1");
                Ok(())
            }
            Type::List(Item::Scalar(s), _) => writeln!(
                c,
                "\tstub_put(&c, &{arg}_len, 4, 4);\n\tstub_put(&c, {arg}, (u64){arg}_len * {0}, {0});",
                s.bytes()
            ),
            Type::List(Item::Record(r), _) => {
                let _ = writeln!(c, "\tstub_put(&c, &{arg}_len, 4, 4);");
                put_records(c, &names.interface.records[r], arg, &format!("{arg}_len"));
                Ok(())
            }
            Type::Text(_) => writeln!(
                c,
                "\tstub_put(&c, &{arg}_len, 4, 4);\n\tstub_put(&c, {arg}, {arg}_len, 1);\n\tstub_put(&c, \"\", 1, 1);"
            ),
        };
    }
    let _ = writeln!(c, "\treturn stub_send(&b->stub, &c, {}, then);\n}}\n", m.number);
}

/// Field by field: what stands in the gaps of a caller's struct does not leave the program.
fn put_records(c: &mut String, r: &Record, arg: &str, nr: &str) {
    let _ = writeln!(
        c,
        "\t{{\n\t\tu8 *p = stub_room(&c, (u64){nr} * {}, {});\n\n\
         \t\tfor (u32 i = 0; !c.bad && i < {nr}; i++, p += {0}) {{\n\t\t\t__builtin_memset(p, 0, {0});",
        r.bytes(),
        r.align()
    );
    for ((field, s), at) in r.fields.iter().zip(r.offsets()) {
        let _ = writeln!(c, "\t\t\t__builtin_memcpy(p + {at}, &{arg}[i].{field}, {});", s.bytes());
    }
    c.push_str("\t\t}\n\t}\n");
}

fn receive(c: &mut String, names: &Names<'_>, m: &Message) {
    let name = &names.interface.name;
    let _ = writeln!(c, "static int {name}_received_{}(struct {name} *b, struct stub_cursor *c)\n{{", m.name);
    let mut call = String::new();
    let mut checks = String::new();
    for a in &m.args {
        let arg = &a.name;
        let bools = |checks: &mut String, r: &Record, nr: &str| {
            for ((_, s), at) in r.fields.iter().zip(r.offsets()) {
                if *s == Scalar::Bool {
                    let _ = writeln!(
                        checks,
                        "\tstub_check_bools(c, {arg} ? (const u8 *){arg} + {at} : 0, {nr}, {});",
                        r.bytes()
                    );
                }
            }
        };
        let _ = match a.kind {
            Type::One(Item::Scalar(Scalar::Bool)) => {
                let _ = writeln!(checks, "\tstub_check_bools(c, &{arg}, 1, 1);");
                let _ = write!(call, ", {arg} != 0");
                writeln!(c, "\tu8 {arg} = stub_get_as(c, u8);")
            }
            Type::One(Item::Scalar(s)) => {
                let _ = write!(call, ", {arg}");
                writeln!(c, "\t{0} {arg} = stub_get_as(c, {0});", scalar(s))
            }
            Type::One(item @ Item::Record(r)) => {
                bools(&mut checks, &names.interface.records[r], "1");
                let _ = write!(call, ", {arg}");
                writeln!(
                    c,
                    "\tconst {} *{arg} = stub_get(c, {}, {});",
                    names.item(item),
                    names.interface.item_bytes(item),
                    names.interface.item_align(item)
                )
            }
            Type::List(item, n) => {
                match item {
                    Item::Scalar(Scalar::Bool) => {
                        let _ = writeln!(checks, "\tstub_check_bools(c, {arg}, {arg}_len, 1);");
                    }
                    Item::Scalar(_) => {}
                    Item::Record(r) => {
                        bools(&mut checks, &names.interface.records[r], &format!("{arg}_len"));
                    }
                }
                let _ = write!(call, ", {arg}, {arg}_len");
                writeln!(
                    c,
                    "\tu32 {arg}_len = stub_length(c, {n}u);\n\
                     \tconst {} *{arg} = stub_get(c, (u64){arg}_len * {}, {});",
                    names.item(item),
                    names.interface.item_bytes(item),
                    names.interface.item_align(item)
                )
            }
            Type::Text(n) => {
                let _ = write!(call, ", {arg}, {arg}_len");
                writeln!(c, "\tu32 {arg}_len;\n\tconst char *{arg} = stub_get_text(c, {n}u, &{arg}_len);")
            }
        };
    }
    let wrong = match m.from {
        Side::Client => "!b->server || ",
        Side::Server => "b->server || ",
        Side::Both => "",
    };
    if !checks.is_empty() {
        let _ = write!(c, "\n{checks}");
    }
    let _ = writeln!(
        c,
        "\n\tif ({wrong}c->bad || c->at != c->end)\n\
         \t\treturn stub_end(&b->stub, -WEIR_EINVAL, \"a message `{0}` does not match the interface\");\n\
         \tif (!b->handlers->{0})\n\
         \t\treturn stub_end(&b->stub, -WEIR_ENOENT, \"nobody here handles a message `{0}`\");\n\
         \treturn b->handlers->{0}(b, b->ctx{call});\n}}\n",
        m.name
    );
}
