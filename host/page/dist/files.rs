&[
    ("app.css", "text/css; charset=utf-8", include_str!("app.css")),
    ("app.js", "text/javascript; charset=utf-8", include_str!("app.js")),
    ("chunk-OOQBCCF6.js", "text/javascript; charset=utf-8", include_str!("chunk-OOQBCCF6.js")),
    ("chunk-SQE76S5B.js", "text/javascript; charset=utf-8", include_str!("chunk-SQE76S5B.js")),
    ("dark.css", "text/css; charset=utf-8", include_str!("dark.css")),
    ("highlight-RCWK45D5.js", "text/javascript; charset=utf-8", include_str!("highlight-RCWK45D5.js")),
    ("icon.svg", "image/svg+xml", include_str!("icon.svg")),
    ("inspector-6X7Z6X2A.css", "text/css; charset=utf-8", include_str!("inspector-6X7Z6X2A.css")),
    ("licences.txt", "text/plain; charset=utf-8", include_str!("licences.txt")),
    ("math-E7VCGOV5.js", "text/javascript; charset=utf-8", include_str!("math-E7VCGOV5.js")),
    ("panel-D6BBBCCN.js", "text/javascript; charset=utf-8", include_str!("panel-D6BBBCCN.js")),
]
