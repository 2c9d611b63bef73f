# The models of the tests: where they lie, and how their results are compared. Sourced after common.sh.

# beside their data; fetched from the packages that ship them; made by a generator
SMALL="skl_mlp_digits skl_rf_digits skl_knn_digits skl_strings_logreg ppocr_cls_fp16 ppocr_cls_dynquant ppocr_det_qdq"
FETCHED="magika ppocr_det_v4 ppocr_rec_v4 silero_vad silero_vad_16k_seq ddddocr_det_yolox open_nsfw_resnet50thin minilm_int8w romanizer_encoder romanizer_decoder slovorez_fp16 tashkeel_bilstm_int8"
FILLED="light_squeezenet_rand light_shufflenet_rand light_resnet50_rand light_densenet121_rand light_inception_v1_rand"
ALL_MODELS="$SMALL ppocr_cls_v2 $FETCHED $FILLED romanizer_greedy_loop"

# The model's file, and the folder of its data sets.
model_file() {
  case $1 in
    ppocr_cls_v2) echo examples/ppocr_cls_v2/model.onnx ;;
    bert4 | gpt2x2 | mobilenet_v2) echo "build/models/perf/$1.onnx" ;;
    *) if [ -f "test/models/$1/model.onnx" ]; then echo "test/models/$1/model.onnx"; elif [ -f "build/models/patterns/$1.onnx" ]; then echo "build/models/patterns/$1.onnx"; else echo "build/models/$1/model.onnx"; fi ;;
  esac
}
model_data() {
  for folder in "examples/$1" "test/models/$1" "build/models/patterns/$1"; do
    if [ -d "$folder/test_data_set_0" ] || [ -f "$folder/input_0.pb" ]; then echo "$folder"; return; fi
  done
}

# The tolerance of a model's data sets: int8 and half types by their rules (docs/cli.md), all others as float32.
tolerance_of() {
  case $1 in
    # rounding to 8 bits tips over many times in a row, in the evaluator as in any other way of computing
    ppocr_cls_dynquant) echo "--rtol 0.03 --atol 0.01" ;;
    *fp16*) echo --tol=fp16 ;;
    *int8*|*qdq*) echo --tol=int8 ;;
    *) echo --tol=fp32 ;;
  esac
}
