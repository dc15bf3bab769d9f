use stepwell_io::tool;

struct Place;
struct Forecast;
struct Fault;

/// Takes a type without a schema.
#[tool]
async fn of_a_place(place: Place) -> String {
    drop(place);
    String::new()
}

/// Gives a type that cannot be written.
#[tool]
async fn gives_a_forecast() -> Forecast {
    Forecast
}

/// Fails with what cannot be read.
#[tool]
fn fails() -> Result<String, Fault> {
    Err(Fault)
}

fn main() {}
