import { TextInput } from '@mantine/core'
import { clockChangeText } from '../../display/times/clock-change.ts'

interface ViewerTimeInputProps {
  readonly label: string
  /** What an empty field means. */
  readonly empty: string
  readonly value: string | undefined
  readonly error: string | null
  readonly onChange: (value: string | undefined) => void
}

/** A time on the clock of the viewer, for requests that take an instant. */
export function ViewerTimeInput({ label, empty, value = '', error, onChange }: ViewerTimeInputProps) {
  const change = clockChangeText(value)
  const { timeZone: zone } = new Intl.DateTimeFormat().resolvedOptions()
  return (
    <TextInput
      type="datetime-local"
      label={label}
      description={`In your time zone, ${zone}; empty: ${empty}${change === null ? '' : `. ${change}`}`}
      value={value}
      error={error}
      onChange={({ currentTarget }) => onChange(currentTarget.value === '' ? undefined : currentTarget.value)}
    />
  )
}
