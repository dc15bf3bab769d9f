use stepwell_io::tools;

struct Weather;

fn main() {
    let _ = tools![Weather];
}
