"""A voice for programs without MyXTTS or TensorFlow: its networks as ONNX graphs, or as a SavedModel.

The ONNX graphs are written from the weights, not converted from TensorFlow's: one sequence at a time, plain operators
of opset 17, every random number an input. What they compute is tested against the models room. Nothing is trained.
"""
