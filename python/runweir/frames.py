# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Tables as data frames of pandas and polars, with times as their types for durations."""

from __future__ import annotations

from typing import Any


def to_pandas(table: Any, timedelta: bool = True) -> Any:
    """A frame of pandas; columns that end with ``_ns`` are ``timedelta64[ns]``, missing ones ``NaT``."""
    import pandas  # type: ignore[import-untyped]

    if hasattr(pandas.DataFrame, "from_arrow"):
        frame = pandas.DataFrame.from_arrow(table)
    else:
        import pyarrow  # type: ignore[import-untyped]

        frame = pyarrow.table(table).to_pandas()
    if timedelta:
        for name in frame.columns:
            if name.endswith("_ns"):
                frame[name] = pandas.to_timedelta(frame[name].astype("Int64"), unit="ns")
    return frame


def to_polars(table: Any, duration: bool = True) -> Any:
    """A frame of polars; columns that end with ``_ns`` are ``Duration("ns")``."""
    import polars

    frame = polars.DataFrame(table)
    if duration:
        times = [polars.col(name).cast(polars.Int64).cast(polars.Duration("ns")) for name in frame.columns if name.endswith("_ns")]
        frame = frame.with_columns(times)
    return frame
