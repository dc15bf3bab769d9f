# An MCP server with one tool, which greets with the words of GREETING.
while read -r line; do
    id=${line#*\"id\":}
    id=${id%%[,\}]*}
    case $line in
    *'"method":"initialize"'*)
        answer='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"greeter","version":"1"}}'
        ;;
    *'"method":"tools/list"'*)
        answer='{"tools":[{"name":"greet","description":"Greets.","inputSchema":{"type":"object"}}]}'
        ;;
    *'"method":"tools/call"'*)
        answer="{\"content\":[{\"type\":\"text\",\"text\":\"$GREETING, whoever you are\"}]}"
        ;;
    *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$answer"
done
