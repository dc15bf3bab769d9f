&[
    ("app.css", "text/css; charset=utf-8", include_str!("app.css")),
    ("app.js", "text/javascript; charset=utf-8", include_str!("app.js")),
    ("chunk-DFTPCW7W.js", "text/javascript; charset=utf-8", include_str!("chunk-DFTPCW7W.js")),
    ("chunk-SQE76S5B.js", "text/javascript; charset=utf-8", include_str!("chunk-SQE76S5B.js")),
    ("dark.css", "text/css; charset=utf-8", include_str!("dark.css")),
    ("highlight-RCWK45D5.js", "text/javascript; charset=utf-8", include_str!("highlight-RCWK45D5.js")),
    ("icon.svg", "image/svg+xml", include_str!("icon.svg")),
    ("inspector-LBGWR2F3.css", "text/css; charset=utf-8", include_str!("inspector-LBGWR2F3.css")),
    ("licences.txt", "text/plain; charset=utf-8", include_str!("licences.txt")),
    ("math-E7VCGOV5.js", "text/javascript; charset=utf-8", include_str!("math-E7VCGOV5.js")),
    ("panel-BA5ACLQQ.js", "text/javascript; charset=utf-8", include_str!("panel-BA5ACLQQ.js")),
]
