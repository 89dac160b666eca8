# Reads objdump -d: prints the instructions that g++ never emits for code compiled with -fsanitize=thread.
/^[0-9a-f]+ <.*>:$/ { sub(/^[0-9a-f]+ </, ""); sub(/>:$/, ""); function_name = $0; place = ""; next }
/^[^ \t].*:[0-9]+( \(discriminator [0-9]+\))?$/ { sub(/ \(discriminator [0-9]+\)$/, ""); place = $0; next }  # by objdump -l
/^ *[0-9a-f]+:\t/ {
    any_code = 1
    sub(/^ *[0-9a-f]+:\t/, "")
    sub(/[ \t]+(#.*)?$/, "")
    if ($0 !~ /(^| )(lock|xchg[bwlq]?|cmpxchg[0-9a-z]*|xadd[bwlq]?|[lms]fence|syscall|sysenter|int|xbegin)( |$)/) next
    if ($0 ~ /xchg[bwlq]? +%[a-z0-9]+,%[a-z0-9]+$/) next  # between registers: a copy, or a gap that was filled
    gsub(/[ \t]+/, " ")
    sub(/^(.*\/)?\.\//, "", place)  # as apiary_as_is_program() names what lies in the project
    printf "    %s: %s: %s\n", (place == "" ? "no line" : place), function_name, $0
}
END { if (!any_code) { print "    it has no code that could be looked at (-flto?)" } }
