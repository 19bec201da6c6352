from pathlib import Path

from solution import main


def test_one_bill(tmp_path):
    path = tmp_path / "bills"
    path.write_text('"","total_bill","tip","sex","smoker","day","time","size"\n"1",20.0,3.0,"Male","No","Sun","Dinner",4\n')
    main(["--bills", str(path), "--min_size", "2"])
    assert float(Path("/var/outputs/tip_rate").read_text()) == 0.15
    lines = Path("/var/outputs/by_day").read_text().split()
    assert lines[0] == "day,bills,mean_tip"
    assert lines[1].startswith("Sun,1,3")
