# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Run package.tcl against stand-ins of Vivado's commands: each port of the module must be mapped, once, in its direction, under a name
# that the bus has, and each file of the list must be there. Silent where all is well.
#
#   tclsh hw/board/zynq/check.tcl

set here [file dirname [file normalize [info script]]]
set files {}
array set mapped {}
array set directions {}
set saved 0

proc bad {what} {
	puts stderr "zynq: $what"
	exit 1
}

# An object is its name here; what is set of a port map is its physical name.
namespace eval ipx {}
foreach command {
	create_project current_fileset ipx::package_project ipx::current_core ipx::get_bus_interfaces ipx::remove_bus_interface
	ipx::add_bus_parameter ipx::add_memory_map ipx::add_address_block ipx::create_xgui_files ipx::update_checksums ipx::check_integrity
} {
	proc $command {args} {}
}
proc add_files {option paths} { set ::files $paths }
proc ipx::save_core {core} { set ::saved 1 }
proc ipx::add_bus_interface {name core} { return $name }
proc ipx::add_port_map {logical interface} { return [list $interface $logical] }
proc set_property {property value object} {
	if {$property ne "physical_name"} return
	if {[info exists ::mapped($value)]} { bad "$value is mapped twice" }
	set ::mapped($value) $object
}

set argv /nowhere
set argc 1
source $here/package.tcl

if {!$saved} { bad "the core is not saved" }
foreach file $files {
	if {![file exists $file]} { bad "$file is not there" }
}
if {![llength $files]} { bad "no files" }

# Which side drives a signal of a slave's AXI4-Lite port.
set outputs {AWREADY WREADY BRESP BVALID ARREADY RDATA RRESP RVALID INTERRUPT}
set source [open $here/../../rtl/weir_laxity_axil.sv]
set ports 0
foreach line [split [read $source] \n] {
	if {![regexp {^\s*(input|output)\s+logic\s+(?:\[[^]]*\]\s*)?(\w+)} $line - direction port]} continue
	incr ports
	if {![info exists mapped($port)]} { bad "$port of weir_laxity_axil is not mapped" }
	lassign $mapped($port) interface logical
	set driven [expr {$logical in $outputs ? "output" : "input"}]
	if {$driven ne $direction} { bad "$port is an $direction, and mapped to $interface.$logical" }
	if {$interface eq "s_axi" && [string tolower $logical] ne [regsub {_[io]$} $port ""]} { bad "$port is mapped to $logical" }
	unset mapped($port)
}
if {$ports != 22} { bad "$ports ports, not those of AXI4-Lite, clock, reset and interrupt" }
if {[array size mapped]} { bad "mapped, but no ports: [array names mapped]" }
