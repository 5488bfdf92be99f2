"""The embedded TorchScript runtime in C++, Objective-C++, Java, Kotlin, Swift, Rust, C# and Go, in what builds them, and in
what serves its files.

Sources in these languages are read with the grammars of `pip install "torchmigrate[embedded]"`.
"""
