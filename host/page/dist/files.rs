&[
    ("app.css", "text/css; charset=utf-8", include_str!("app.css")),
    ("app.js", "text/javascript; charset=utf-8", include_str!("app.js")),
    ("chunk-EH6IGYF6.js", "text/javascript; charset=utf-8", include_str!("chunk-EH6IGYF6.js")),
    ("chunk-SQE76S5B.js", "text/javascript; charset=utf-8", include_str!("chunk-SQE76S5B.js")),
    ("dark.css", "text/css; charset=utf-8", include_str!("dark.css")),
    ("highlight-AKESP2SE.js", "text/javascript; charset=utf-8", include_str!("highlight-AKESP2SE.js")),
    ("icon.svg", "image/svg+xml", include_str!("icon.svg")),
    ("inspector-V5XCSUJJ.css", "text/css; charset=utf-8", include_str!("inspector-V5XCSUJJ.css")),
    ("licences.txt", "text/plain; charset=utf-8", include_str!("licences.txt")),
    ("math-I4RSTQKS.js", "text/javascript; charset=utf-8", include_str!("math-I4RSTQKS.js")),
    ("panel-LLZE7U5F.js", "text/javascript; charset=utf-8", include_str!("panel-LLZE7U5F.js")),
]
