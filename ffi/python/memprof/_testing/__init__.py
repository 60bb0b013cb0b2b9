# SPDX-License-Identifier: Apache-2.0
"""What the pytest plugin is made of."""
