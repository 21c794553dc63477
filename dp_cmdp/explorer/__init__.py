"""The explorer: a local page where a private safe policy is designed by looking.

What is behind the page (designs, answers, maps, words, code) needs no framework and is in this
folder; the page itself, on NiceGUI, is in ``page``. ``dp-cmdp explore`` starts it.
"""
