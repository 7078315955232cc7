import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { clockChangeText } from '../../display/times/clock-change.ts'
import { instantOf, readingAt } from '../../display/times/clock-reading.ts'
import { useTextZone } from '../../display/times/text-zone.ts'

interface InstantInputProps {
  readonly label: string
  /** What an empty field means. */
  readonly empty: string
  /** As in the address of the page. */
  readonly value: string | undefined
  readonly error: string | null
  readonly onChange: (value: string | undefined) => void
}

/** An instant, on the clock of the site on its page, and otherwise on that of the viewer. */
export function InstantInput({ label, empty, value = '', error, onChange }: InstantInputProps) {
  const [typed, setTyped] = useState({ reading: '', instant: '' })
  const zone = useTextZone()
  // A time that the clock skips stays as it was typed.
  const reading = typed.instant === value ? typed.reading : readingAt(value, zone)
  const change = clockChangeText({ local: reading, instant: value, zone })
  const clock =
    zone === undefined
      ? `In your time zone, ${new Intl.DateTimeFormat().resolvedOptions().timeZone}`
      : `In the time zone of the site, ${zone}`
  return (
    <TextInput
      type="datetime-local"
      label={label}
      description={`${clock}; empty: ${empty}${change === null ? '' : `. ${change}`}`}
      value={reading}
      error={error}
      onChange={({ currentTarget }) => {
        const instant = instantOf(currentTarget.value, zone)
        setTyped({ reading: currentTarget.value, instant })
        onChange(instant === '' ? undefined : instant)
      }}
    />
  )
}
