import { NativeSelect } from '@mantine/core'
import { Suspense, lazy } from 'react'
import { type Choice, MANY_CHOICES } from './choices.ts'

/** Its script is large, and most organizations have few sites. */
const LongSelect = lazy(async () => ({ default: (await import('./long-select.tsx')).LongSelect }))

interface SearchSelectProps {
  readonly label: string
  /** The label is only read aloud. */
  readonly isSmall?: boolean
  /** Whether it filters what is shown. */
  readonly isActive?: boolean
  readonly choices: readonly Choice[]
  readonly value: string
  readonly onChange: (value: string) => void
}

/** A select. If its choices are many, they are searched by what is typed. */
export function SearchSelect({ label, isSmall = false, isActive, choices, value, onChange }: SearchSelectProps) {
  const shared = {
    ...(isSmall ? { size: 'xs', 'aria-label': label } : { label }),
    value,
    'data-active': isActive || undefined,
  } as const
  const short = (some: readonly Choice[]) => (
    <NativeSelect {...shared} data={[...some]} onChange={({ currentTarget }) => onChange(currentTarget.value)} />
  )
  if (choices.length <= MANY_CHOICES) return short(choices)
  return (
    <Suspense fallback={short(choices.filter((choice) => choice.value === value))}>
      <LongSelect {...shared} choices={choices} onChange={onChange} />
    </Suspense>
  )
}
