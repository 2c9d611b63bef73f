# Turns the text file IN into the C file OUT that defines `const char opf_embedded_NAME[]`, terminated.
file(READ ${IN} HEX HEX)
string(REGEX REPLACE "(..)" "0x\\1," BYTES "${HEX}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" BYTES "${BYTES}")
file(WRITE ${OUT} "extern const char opf_embedded_${NAME}[];\nconst char opf_embedded_${NAME}[] = {\n${BYTES}0};\n")
