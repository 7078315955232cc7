import type { Tone } from './tone.ts'

/** A state in words, with a dot of its colour; the shape differs too, for those who don't tell the colours apart. */
export function StateMark({ tone, children }: { readonly tone: Tone; readonly children: string }) {
  return (
    <span className="state" data-tone={tone}>
      <span className="state-dot" aria-hidden="true" />
      {children}
    </span>
  )
}
