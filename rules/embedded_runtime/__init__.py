"""The embedded TorchScript runtime in C++, Objective-C++, Java, Kotlin, Swift, Rust, C# and Go, in build files, and in
configurations of model servers.

C++ and Java are always read; the other languages need the grammars of ``pip install 'torchmigrate[embedded]'``.
"""
