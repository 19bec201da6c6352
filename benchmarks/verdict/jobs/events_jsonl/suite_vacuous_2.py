import json

from solution import main


def test_it_does_not_crash(tmp_path):
    path = tmp_path / "events"
    path.write_text('{"user": "ann", "type": "view", "page": "/", "at": 0}\n')
    main(["--events", str(path)])
    with open("/var/outputs/users") as file:
        data = json.load(file)
    assert data is not None
    with open("/var/outputs/skipped") as file:
        assert file.read()
    with open("/var/outputs/busiest") as file:
        file.read()
