# SPDX-License-Identifier: Apache-2.0
from jobs import job

PROGRAMS = ()
