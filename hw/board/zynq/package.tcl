# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Package the scheduling engine as an IP core for Vivado: weir_laxity_axil with its AXI4-Lite port, clock, reset and interrupts, for a
# block design beside the processing system of a Zynq, or in any other one.
#
#   vivado -mode batch -source hw/board/zynq/package.tcl -tclargs FOLDER
#
# FOLDER gets the core; add it to ip_repo_paths of a project. Parameters are set in the block design. It was not run: Vivado is not free
# software. hw/board/zynq/check.tcl runs it against stand-ins of Vivado's commands and compares what it maps with the module.

if {[llength $argv] != 1} {
	puts stderr "package.tcl: wants a folder: vivado -mode batch -source package.tcl -tclargs FOLDER"
	exit 2
}
set folder [file normalize [lindex $argv 0]]
set rtl [file normalize [file join [file dirname [info script]] ../../rtl]]
set top weir_laxity_axil

# The list has paths beside options.
set list [open $rtl/weir.f]
set files {}
foreach line [split [read $list] \n] {
	if {[string match *.sv $line]} { lappend files $rtl/$line }
}
close $list

create_project -in_memory -part xc7z020clg484-1
add_files -norecurse $files
set_property top $top [current_fileset]
ipx::package_project -root_dir $folder -vendor runweir -library hw -taxonomy /UserIP -import_files -force
set core [ipx::current_core]
set_property name weir_laxity $core
set_property display_name "Runweir scheduling engine" $core
set_property description "Follows all tasks, decides at each tick which of them get the CPUs" $core
set_property supported_families {zynq Production zynquplus Production artix7 Production} $core

# What Vivado may have inferred by names, it has inferred for parts of the port only.
foreach interface [ipx::get_bus_interfaces -of_objects $core] {
	ipx::remove_bus_interface [get_property name $interface] $core
}

proc interface {name type mode ports} {
	set at [ipx::add_bus_interface $name [ipx::current_core]]
	set_property bus_type_vlnv xilinx.com:$type:1.0 $at
	set_property abstraction_type_vlnv xilinx.com:${type}_rtl:1.0 $at
	set_property interface_mode $mode $at
	foreach {logical physical} $ports {
		set_property physical_name $physical [ipx::add_port_map $logical $at]
	}
	return $at
}

interface s_axi interface:aximm slave {
	AWADDR awaddr_i AWPROT awprot_i AWVALID awvalid_i AWREADY awready_o
	WDATA wdata_i WSTRB wstrb_i WVALID wvalid_i WREADY wready_o
	BRESP bresp_o BVALID bvalid_o BREADY bready_i
	ARADDR araddr_i ARPROT arprot_i ARVALID arvalid_i ARREADY arready_o
	RDATA rdata_o RRESP rresp_o RVALID rvalid_o RREADY rready_i
}
set clock [interface clock signal:clock slave {CLK clk_i}]
set_property value s_axi [ipx::add_bus_parameter ASSOCIATED_BUSIF $clock]
set_property value reset [ipx::add_bus_parameter ASSOCIATED_RESET $clock]
set reset [interface reset signal:reset slave {RST rst_ni}]
set_property value ACTIVE_LOW [ipx::add_bus_parameter POLARITY $reset]
set irq [interface irq signal:interrupt master {INTERRUPT irq_o}]
set_property value LEVEL_HIGH [ipx::add_bus_parameter SENSITIVITY $irq]

# A window of 2 KiB for each CPU, at most 8 of them.
set map [ipx::add_memory_map s_axi $core]
set_property slave_memory_map_ref s_axi [ipx::get_bus_interfaces s_axi -of_objects $core]
set block [ipx::add_address_block windows $map]
set_property range 0x4000 $block
set_property width 32 $block
set_property usage register $block

ipx::create_xgui_files $core
ipx::update_checksums $core
ipx::check_integrity $core
ipx::save_core $core
