// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Files: what is read from hwloc's three versions, from TOML and from a made-up host.
