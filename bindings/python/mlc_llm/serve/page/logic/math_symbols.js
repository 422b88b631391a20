// The names of LaTeX for letters and signs, and the signs themselves.

const paired = (text) =>
  Object.fromEntries(text.trim().split(/\s+/).map((pair) => pair.split("=")));

export const SYMBOLS = paired(`
  alpha=α beta=β gamma=γ delta=δ epsilon=ϵ varepsilon=ε zeta=ζ eta=η theta=θ vartheta=ϑ iota=ι
  kappa=κ lambda=λ mu=μ nu=ν xi=ξ omicron=ο pi=π varpi=ϖ rho=ρ varrho=ϱ sigma=σ varsigma=ς tau=τ
  upsilon=υ phi=ϕ varphi=φ chi=χ psi=ψ omega=ω Gamma=Γ Delta=Δ Theta=Θ Lambda=Λ Xi=Ξ Pi=Π Sigma=Σ
  Upsilon=Υ Phi=Φ Psi=Ψ Omega=Ω hbar=ℏ ell=ℓ Re=ℜ Im=ℑ aleph=ℵ partial=∂ nabla=∇ infty=∞
  emptyset=∅ varnothing=∅ angle=∠ degree=° prime=′ forall=∀ exists=∃ nexists=∄ neg=¬ lnot=¬
  pm=± mp=∓ times=× div=÷ cdot=⋅ ast=∗ star=⋆ circ=∘ bullet=• oplus=⊕ ominus=⊖ otimes=⊗ odot=⊙
  wedge=∧ land=∧ vee=∨ lor=∨ cap=∩ cup=∪ setminus=∖ backslash=∖ dagger=†
  leq=≤ le=≤ geq=≥ ge=≥ neq=≠ ne=≠ ll=≪ gg=≫ approx=≈ sim=∼ simeq=≃ cong=≅ equiv=≡ propto=∝
  prec=≺ succ=≻ subset=⊂ supset=⊃ subseteq=⊆ supseteq=⊇ in=∈ notin=∉ ni=∋ perp=⊥ parallel=∥
  mid=∣ models=⊨ vdash=⊢ top=⊤ bot=⊥ therefore=∴ because=∵ coloneqq=≔
  to=→ rightarrow=→ leftarrow=← gets=← leftrightarrow=↔ Rightarrow=⇒ implies=⟹ Leftarrow=⇐
  Leftrightarrow=⇔ iff=⟺ longrightarrow=⟶ longleftarrow=⟵ mapsto=↦ hookrightarrow=↪ uparrow=↑
  downarrow=↓ nearrow=↗ searrow=↘ rightleftharpoons=⇌
  ldots=… dots=… cdots=⋯ vdots=⋮ ddots=⋱ dotsc=… dotsb=⋯ colon=: lbrace={ rbrace=} langle=⟨
  rangle=⟩ lfloor=⌊ rfloor=⌋ lceil=⌈ rceil=⌉ vert=| Vert=‖ lvert=| rvert=| lVert=‖ rVert=‖
  square=□ blacksquare=■ triangle=△ checkmark=✓ $=$ %=% #=# &=& _=_
`);

// Signs that grow, and whose limits stand below and above them.
export const LARGE = paired(`
  sum=∑ prod=∏ coprod=∐ int=∫ iint=∬ iiint=∭ oint=∮ bigcup=⋃ bigcap=⋂ bigoplus=⨁ bigotimes=⨂
  bigvee=⋁ bigwedge=⋀
`);

export const FUNCTIONS = new Set(
  ("sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln lg exp det dim ker gcd deg " +
    "arg lim max min sup inf limsup liminf argmax argmin hom Pr bmod mod").split(" "),
);

export const FENCES = paired(`
  {={ }=} |=‖ langle=⟨ rangle=⟩ lfloor=⌊ rfloor=⌋ lceil=⌈ rceil=⌉ vert=| Vert=‖ lvert=| rvert=|
  lVert=‖ rVert=‖ lbrace={ rbrace=} lbrack=[ rbrack=]
`);

// The sign, and whether it is below.
export const ACCENTS = {
  hat: ["^", false],
  widehat: ["^", false],
  tilde: ["˜", false],
  widetilde: ["˜", false],
  bar: ["‾", false],
  overline: ["‾", false],
  vec: ["→", false],
  overrightarrow: ["→", false],
  dot: ["˙", false],
  ddot: ["¨", false],
  check: ["ˇ", false],
  overbrace: ["⏞", false],
  underline: ["_", true],
  underbrace: ["⏟", true],
};

export const SPACES = {
  ",": "0.17em",
  ":": "0.22em",
  ";": "0.28em",
  " ": "0.28em",
  "!": "-0.17em",
  quad: "1em",
  qquad: "2em",
};

const BOLD = { upper: 0x1d400, lower: 0x1d41a, digit: 0x1d7ce };
// Where Unicode's mathematical alphabets begin; `others` are letters that it had before.
export const ALPHABETS = {
  mathbf: BOLD,
  boldsymbol: BOLD,
  bm: BOLD,
  mathbb: {
    upper: 0x1d538,
    lower: 0x1d552,
    digit: 0x1d7d8,
    others: paired("C=ℂ H=ℍ N=ℕ P=ℙ Q=ℚ R=ℝ Z=ℤ"),
  },
  mathcal: {
    upper: 0x1d49c,
    others: paired("B=ℬ E=ℰ F=ℱ H=ℋ I=ℐ L=ℒ M=ℳ R=ℛ"),
  },
  mathfrak: { upper: 0x1d504, lower: 0x1d51e, others: paired("C=ℭ H=ℌ I=ℑ R=ℜ Z=ℨ") },
  mathsf: { upper: 0x1d5a0, lower: 0x1d5ba, digit: 0x1d7e2 },
  mathtt: { upper: 0x1d670, lower: 0x1d68a, digit: 0x1d7f6 },
  mathit: {},
};
