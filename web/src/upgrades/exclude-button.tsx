import { type ReactNode, useState } from 'react'
import { ConfirmButton } from '../display/forms/confirm-button.tsx'
import { exclusionEffect, skippedText } from './exclusion.ts'
import { NoteField } from './note-field.tsx'

/** @param left Says what was not excluded; null: nothing. With what was excluded, the button and its dialog go. */
export type ExclusionDone = (left: string | null) => Promise<void>

/** @returns What the last exclusion has left as it was, and what the buttons of a list call. */
export function useExclusion(onDone: () => Promise<void>): readonly [note: ReactNode, excluded: ExclusionDone] {
  const [left, setLeft] = useState<string | null>(null)
  const note = left !== null && (
    <p className="problem" role="alert">
      {left}
    </p>
  )
  const excluded: ExclusionDone = (text) => {
    setLeft(text)
    return onDone()
  }
  return [note, excluded]
}

interface ExcludeButtonProps {
  readonly action: string
  readonly count: number
  /** What one of them is called. */
  readonly unit: string
  /** The name of the only one. */
  readonly name?: string
  readonly exclude: (note: string) => Promise<{ readonly skipped: Parameters<typeof skippedText>[0] }>
  readonly onDone: ExclusionDone
}

/** Excludes devices, routers or appliances from the upgrade. */
export function ExcludeButton({ action, count, unit, name, exclude, onDone }: ExcludeButtonProps) {
  const [note, setNote] = useState('')
  return (
    <ConfirmButton
      action={action}
      isDestructive
      effect={exclusionEffect(count, unit, name)}
      fields={<NoteField note={note} onChange={setNote} maxLength={200} />}
      onOpen={() => setNote('')}
      run={async () => {
        const { skipped } = await exclude(note)
        await onDone(skippedText(skipped, unit))
      }}
    />
  )
}
