import csv
from pathlib import Path

from solution import main

ORDERS = """order_id,customer_id,amount
1,C002,19.99
2,C001,5.01
3,C007,100.0
4,C002,0.5
5,C003,12.3
"""
CUSTOMERS = """customer_id,name,country
C001,Ann,Denmark
C002,Bo,Belgium
C003,Bo,
C004,Dev,Denmark
C005,Eva,Ghana
"""


def test_all_at_once(tmp_path):
    (tmp_path / "o").write_text(ORDERS)
    (tmp_path / "c").write_text(CUSTOMERS)
    main(["--orders", str(tmp_path / "o"), "--customers", str(tmp_path / "c")])
    with open("/var/outputs/by_country", newline="") as file:
        rows = [(row["country"], row["customers"], row["orders"], float(row["amount"])) for row in csv.DictReader(file)]
    assert rows == [
        ("Belgium", "1", "2", 20.49),
        ("Denmark", "2", "1", 5.01),
        ("Ghana", "1", "0", 0.0),
        ("unknown", "1", "1", 12.3),
    ]
    assert Path("/var/outputs/unmatched").read_text().strip() == "1"


def test_amounts_have_two_decimals(tmp_path):
    (tmp_path / "o").write_text("order_id,customer_id,amount\n1,C001,5.5\n2,C001,0.25\n")
    (tmp_path / "c").write_text("customer_id,name,country\nC001,Ann,Denmark\n")
    main(["--orders", str(tmp_path / "o"), "--customers", str(tmp_path / "c")])
    assert Path("/var/outputs/by_country").read_text().split()[1] == "Denmark,1,2,5.75"
