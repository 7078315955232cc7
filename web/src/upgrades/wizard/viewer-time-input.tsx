import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { clockChangeText } from '../../display/times/clock-change.ts'
import { instantOf, readingAt } from '../../display/times/clock-reading.ts'

interface ViewerTimeInputProps {
  readonly label: string
  /** What an empty field means. */
  readonly empty: string
  /** An instant, as in the address of the page. */
  readonly value: string | undefined
  readonly error: string | null
  readonly onChange: (value: string | undefined) => void
}

/** An instant, on the clock of the viewer. */
export function ViewerTimeInput({ label, empty, value = '', error, onChange }: ViewerTimeInputProps) {
  const [typed, setTyped] = useState({ reading: '', instant: '' })
  // A time that the clock skips stays as it was typed.
  const reading = typed.instant === value ? typed.reading : readingAt(value)
  const change = clockChangeText(reading, value)
  const { timeZone: zone } = new Intl.DateTimeFormat().resolvedOptions()
  return (
    <TextInput
      type="datetime-local"
      label={label}
      description={`In your time zone, ${zone}; empty: ${empty}${change === null ? '' : `. ${change}`}`}
      value={reading}
      error={error}
      onChange={({ currentTarget }) => {
        const instant = instantOf(currentTarget.value)
        setTyped({ reading: currentTarget.value, instant })
        onChange(instant === '' ? undefined : instant)
      }}
    />
  )
}
