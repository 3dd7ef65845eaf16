"""Questions to a fit: what if, who stands in, what is cheapest, how stable.

Gets a fit's facts. Gives facts: tables and small frozen records.
"""
