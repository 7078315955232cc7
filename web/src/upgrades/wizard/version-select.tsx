import { NativeSelect } from '@mantine/core'
import type { LoadedChoices } from '../../display/forms/choices.ts'
import { LoadNote } from '../../display/layout/notices.tsx'

interface VersionSelectProps {
  readonly label: string
  /** True if its choices name models. */
  readonly isWide?: boolean
  readonly version: string
  readonly loaded: LoadedChoices
  readonly error: string | null
  readonly onChange: (version: string) => void
}

/** The versions of a catalog. A draft may name another one, which is shown as well. */
export function VersionSelect({ label, isWide = false, version, loaded, error, onChange }: VersionSelectProps) {
  const { choices = [], failure } = loaded
  const isKnown = choices.some(({ value }) => value === version)
  return (
    <div className={isWide ? 'wide-field' : undefined}>
      <NativeSelect
        label={label}
        value={version}
        data={isKnown ? [...choices] : [...choices, { value: version, label: version }]}
        error={error}
        onChange={({ currentTarget: { value } }) => onChange(value)}
      />
      <LoadNote what="Some versions" failure={failure} />
    </div>
  )
}
