"""Job descriptions and the row order that each asks for, labelled before the rules of `order.py` were written.

The first twenty are the descriptions of jobs that stand elsewhere in this repository.
"""

from __future__ import annotations

PHRASINGS: tuple[tuple[str, str], ...] = (
    ("Total revenue: the sum of quantity times price; n: the number of rows.", "free"),
    ("rainy: the number of days with at least 1 mm of rain (mm); total: the sum of mm, with two decimals.", "free"),
    ("latest: the time of the last order (column ordered, ISO 8601 in UTC without a zone); orders: how many.", "free"),
    ("longest: the longest name of the file, one name a line; n: the number of names, empty lines left out.", "free"),
    ("top: the product with the largest sum of quantity; share: its part of the whole quantity, 0 to 1.", "free"),
    ("late: the share of deliveries with delivered after promised (ISO dates), 0 to 1; worst: most days late.", "free"),
    ("median: the median of age, rows without an age left out; known: how many have one.", "free"),
    (
        "unique: the number of different addresses (column email), upper and lower case alike; domains: of domains.",
        "free",
    ),
    (
        "peak: the largest mean of three values in a row (column value); position: at which row it starts, from 1.",
        "free",
    ),
    ("total: the length of all sessions together, from start and end in seconds; sessions: how many.", "free"),
    (
        (
            "Count the days with at least 1 mm of precipitation as rainy_days. Write monthly: one row for each month "
            "with month (YYYY-MM), mean_temp (mean of the daily midpoints of temp_min and temp_max) and precipitation "
            "(sum), rounded to one decimal."
        ),
        "free",
    ),
    ("Count the rows of the table.", "free"),
    ("Total revenue of the shop: the sum of quantity times price.\nReturns are left out.", "free"),
    ("Read the sales CSV, compute total revenue = sum(quantity * price) and n = the number of rows.", "free"),
    ("best: the names of the top products with the largest amounts, joined with commas.", "free"),
    ("Sum the rain", "free"),
    ("count the rows while an image is built", "free"),
    ("count by a file", "free"),
    ("count the rows, by whichever way", "free"),
    ("Total revenue: the sum of quantity times price", "free"),
    # Sorted by one key, ties not spoken of.
    ("Write ranking: one row per product with product and revenue, sorted by revenue in descending order.", "asked"),
    ("Write a CSV with columns country, visits, ordered by visits, largest first.", "asked"),
    ("List the airports by number of departures, busiest first.", "asked"),
    ("Give the ten stations with the most rain, highest total first, as station and total_mm.", "asked"),
    ("by_month: month and total, in chronological order.", "asked"),
    ("Rows go from the oldest to the newest order.", "asked"),
    ("Sort the result alphabetically by surname.", "asked"),
    ("Output the table in ascending order of price.", "asked"),
    ("Return the top 5 customers ranked by spend.", "asked"),
    ("The file lists each species with its mean mass (g), heaviest first.", "asked"),
    ("Write late.csv with the id and delay of each late delivery, worst delay at the top.", "asked"),
    ("Keep the rows in the order in which they stand in the file.", "asked"),
    ("Write the cleaned rows in their original order.", "asked"),
    ("clean: the rows without duplicates, the input order preserved.", "asked"),
    ("One line for each user, newest sign-up first.", "asked"),
    ("summary has region and margin (percent, one decimal), sorted descending on margin.", "asked"),
    ("The months must appear in calendar order.", "asked"),
    ("Save a JSON list of the suppliers, arranged by country.", "asked"),
    ("Order the output by date.", "asked"),
    ("Produce monthly.csv sorted by month.", "asked"),
    ("Write weekly: week and downloads, earliest week first.", "asked"),
    ("Write the sensors from the coldest to the warmest.", "asked"),
    ("Sort by total (high to low) and write name and total.", "asked"),
    ("Rank the teams by points; the table starts with the leader.", "asked"),
    ("Write scores as CSV (name, score), in decreasing order of score.", "asked"),
    # Sorted, with ties or a second key.
    ("Sort by revenue descending, then by product name.", "asked_with_ties"),
    ("Write ranking: product and units, most units first; ties in alphabetical order of product.", "asked_with_ties"),
    ("sorted by region and month", "asked_with_ties"),
    ("Order by count (descending) and, where counts are equal, by name.", "asked_with_ties"),
    ("Largest total first, equal totals by the smaller id.", "asked_with_ties"),
    ("Sort the rows by department, salary descending within each department.", "asked_with_ties"),
    (
        "The ten longest flights, longest first. In case of a tie the one with the earlier departure comes first.",
        "asked_with_ties",
    ),
    ("Write top.csv ordered by score from high to low; break ties by user_id.", "asked_with_ties"),
    (
        "List the words by frequency, most frequent first, words of the same frequency alphabetically.",
        "asked_with_ties",
    ),
    ("Rows are sorted by country, then year.", "asked_with_ties"),
    ("Sort ascending by (state, county).", "asked_with_ties"),
    (
        "Sorted by origin, then by mean mpg, highest first; rows with equal means keep the order of the file.",
        "asked_with_ties",
    ),
    ("Sort by date, and for the same date by station.", "asked_with_ties"),
    # Words of order that say nothing about the rows of an output.
    ("orders: the number of orders of each customer, as customer and orders.", "free"),
    ("Compute the mean order value in order to find big spenders: one row a customer, customer and mean.", "free"),
    ("Count how many purchase orders were late for each supplier; write supplier and late.", "free"),
    ("Take the first order of each customer by date and write customer and amount.", "free"),
    ("For each sort of wine give its mean alcohol.", "free"),
    ("Rank correlation (Spearman) of age and income for each region: region and rho.", "free"),
    ("Write the three products with the highest revenue: product, revenue.", "free"),
    ("The input is sorted by date. Write per month the highest closing price.", "free"),
    ("Add a column rank: 1 for the team with the most points. Rows may be in any order.", "free"),
    ("For each group the share of rows above its median; the order of rows does not matter.", "free"),
    ("Give the first and the last reading of each sensor by time, one row a sensor.", "free"),
    ("The largest order of each day, as day and amount.", "free"),
    ("Write by_region: one row for each region with the highest and the lowest price.", "free"),
    ("Bin the ages (0-17, 18-64, 65 and older) and count each bin.", "free"),
    ("The events are not sorted; find the longest pause between two of them.", "free"),
    ("alphabet: the number of different letters used in the column text.", "free"),
    ("In chronological order the readings should rise; count those that do not.", "free"),
    ("Median of the ordered quantity for each product: product, median.", "free"),
    ("Drop duplicates by id, the newest first_seen wins; write id and first_seen.", "free"),
)
