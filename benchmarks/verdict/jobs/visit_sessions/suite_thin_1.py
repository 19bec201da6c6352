import json
from pathlib import Path

from solution import main


def test_a_user_who_comes_back(tmp_path):
    path = tmp_path / "visits"
    path.write_text(
        "time;user;path;status;bytes\n"
        "2024-03-01 10:00:00;ada;/;200;1024\n"
        "2024-03-01 10:01:00;ada;/cart;200;1024\n"
        "2024-03-01 15:00:00;ada;/checkout;200;1024\n"
    )
    main(["--visits", str(path), "--idle_minutes", "30"])
    lines = [json.loads(line) for line in Path("/var/outputs/sessions").read_text().splitlines()]
    assert [line["requests"] for line in lines] == [2, 1]
    assert lines[0]["user"] == "ada"
    assert Path("/var/outputs/longest").read_text() == "60s"
    assert float(Path("/var/outputs/conversion").read_text()) == 0.5
