from pathlib import Path

from solution import main


def test_one_city(tmp_path):
    path = tmp_path / "housing"
    path.write_text(
        '"city","year","month","sales","volume","median","listings","inventory","date"\n'
        '"Abilene",2000,1,72,7200000,71400,701,6.3,2000\n'
        '"Abilene",2000,2,28,2800000,58700,746,6.6,2000.08\n'
    )
    main(["--housing", str(path), "--year", "2000", "--n", "5"])
    assert Path("/var/outputs/prices").read_text().splitlines() == [
        "rank,city,sales,average_price,best_quarter",
        "1,Abilene,100,100000.0,Q1",
    ]
    assert Path("/var/outputs/coverage").read_text() == "1.0"
