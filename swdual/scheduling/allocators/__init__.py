"""The allocators: one file each, named as on the command line.

Without a prefix they are forced, and make a job wait for processors that suit them; but `basic`
takes any. Chapters 4 and 5 of Machado Mendonca's thesis define them; the files name the section.
"""
