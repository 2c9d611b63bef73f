# status 0
# branches and loops give what the evaluator gives, whatever the policy and the sizes
for policy in none tvm best; do
  opfuse verify $root/test/cli/models/branches.onnx --input x=uniform:1:2 --shape x=6 --fuse=$policy -q | tail -1
  opfuse verify $root/test/cli/models/branches.onnx --input x=uniform:-2:-1 --shape x=5 --fuse=$policy -q | tail -1
  for size in 1 3 30; do opfuse verify $root/test/cli/models/loop.onnx --input x=uniform:1:2 --shape x=$size --fuse=$policy -q | tail -1; done
  opfuse verify $root/test/cli/models/trips.onnx --input x=uniform:1:2 --shape x=3 --fuse=$policy -q | tail -1
  for length in 0 1 5; do opfuse verify $root/test/cli/models/scan.onnx --shape s0=3 --shape x=3,$length --shape y=3,$length --fuse=$policy -q | tail -1; done
done | sort | uniq -c | sed 's/^ *//'
