&[
    ("app.css", "text/css; charset=utf-8", include_str!("app.css")),
    ("app.js", "text/javascript; charset=utf-8", include_str!("app.js")),
    ("chunk-3LVKECF5.js", "text/javascript; charset=utf-8", include_str!("chunk-3LVKECF5.js")),
    ("chunk-SQE76S5B.js", "text/javascript; charset=utf-8", include_str!("chunk-SQE76S5B.js")),
    ("dark.css", "text/css; charset=utf-8", include_str!("dark.css")),
    ("highlight-RCWK45D5.js", "text/javascript; charset=utf-8", include_str!("highlight-RCWK45D5.js")),
    ("icon.svg", "image/svg+xml", include_str!("icon.svg")),
    ("inspector-V5XCSUJJ.css", "text/css; charset=utf-8", include_str!("inspector-V5XCSUJJ.css")),
    ("licences.txt", "text/plain; charset=utf-8", include_str!("licences.txt")),
    ("math-E7VCGOV5.js", "text/javascript; charset=utf-8", include_str!("math-E7VCGOV5.js")),
    ("panel-2GSRFBXN.js", "text/javascript; charset=utf-8", include_str!("panel-2GSRFBXN.js")),
]
