"""Prints what a C++ extension of torch needs: version, C++ ABI, include and library folders."""

import os

import torch
from torch.utils import cpp_extension

print(torch.__version__)
print(int(torch.compiled_with_cxx11_abi()))
print(os.pathsep.join(cpp_extension.include_paths()))
print(os.pathsep.join(cpp_extension.library_paths()))
