# status 1
cat >own.patterns <<'END'
pattern a force chain Add -> -> Mul
pattern b force chain Add
    kernel k.c f
pattern c binds chain Add
pattern d bind chain Add -> Mul?  kernel none.c f
pattern e prefer chain Add[rank ~ 3] -> Mul
pattern f forbid chain Add? -> Mul
pattern g force function F (x) => (y) { y = Relu (z)  z = Neg (y) }
pattern h force function F (x) => (y) { y = Relu (x)  q = Neg (r) }
pattern i force function F (x, w) => (y, v) { y = Relu (x)  v = Neg (w) }
pattern j bind priority 1.5 chain Add
pattern k force function none.onnx
pattern l force chain a: Add -> b: Mul results a
pattern m force chain Add -> Mul
pattern m force chain Add -> Mul
pattern n force chain Add[type = wood]
pattern o force
END
opfuse match $root/examples/own_patterns/model.onnx --patterns own.patterns
