
scores23"cat"bee"ant* JA K2J0?JÉìO;23"ant"cat"bee* Jô†i1Jşÿ?JP'4