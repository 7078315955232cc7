import { NativeSelect } from '@mantine/core'
import type { Choice } from '../../display/forms/choice-list.tsx'

interface VersionSelectProps {
  readonly label: string
  readonly version: string
  readonly choices: readonly Choice[]
  readonly error: string | null
  readonly onChange: (version: string) => void
}

/** The versions of a catalogue. A draft may name another one, which is shown as well. */
export function VersionSelect({ label, version, choices, error, onChange }: VersionSelectProps) {
  const isKnown = choices.some(({ value }) => value === version)
  return (
    <NativeSelect
      label={label}
      value={version}
      data={isKnown ? [...choices] : [...choices, { value: version, label: version }]}
      error={error}
      onChange={({ currentTarget: { value } }) => onChange(value)}
    />
  )
}
