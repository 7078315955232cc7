import { TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import type { Choice } from '../../display/forms/choices.ts'
import { SearchSelect } from '../../display/forms/search-select.tsx'
import { type Site, siteChoices } from '../../orgs/sites.ts'
import { capital } from '../../display/texts/capital.ts'
import { deviceTypes } from '../device.ts'
import { useValues } from '../use-values.ts'
import { type DeviceSearch, filtersOf } from '../device-search.ts'

interface DeviceFiltersProps {
  readonly orgId: string
  readonly search: DeviceSearch
  readonly sites: ReadonlyMap<string, Site> | undefined
}

const TYPING_MS = 250

/** Filters are in the address, so that a list can be linked to, and comes back with the browser's own buttons. */
export function DeviceFilters({ orgId, search, sites }: DeviceFiltersProps) {
  const navigate = useNavigate({ from: '/orgs/$orgId/devices' })
  const change = (changed: DeviceSearch | Record<string, undefined>): void =>
    void navigate({ search: (current) => withoutEmpty({ ...current, ...changed }), replace: true })
  const selects: readonly (readonly [keyof DeviceSearch, string, readonly Choice[]])[] = [
    ['type', 'All types', Object.entries(deviceTypes).map(([value, { many }]) => ({ value, label: capital(many) }))],
    [
      'status',
      'Any state',
      [
        { value: 'connected', label: 'Connected' },
        { value: 'disconnected', label: 'Disconnected' },
      ],
    ],
    ['site', 'All sites', siteChoices(sites)],
    ['model', 'All models', useValues(orgId, 'model').choices ?? []],
    ['version', 'All versions', useValues(orgId, 'version').choices ?? []],
  ]
  const filters = Object.keys(filtersOf(search))
  return (
    <div className="filters" role="search" aria-label="Devices">
      <SearchField text={search.text ?? ''} onChange={(text) => change({ text })} />
      {selects.map(([name, all, choices]) => (
        <SearchSelect
          key={name}
          isSmall
          label={capital(name)}
          isActive={search[name] !== undefined}
          value={search[name] ?? ''}
          choices={[{ value: '', label: all }, ...withCurrent(choices, search[name])]}
          onChange={(value) => change({ [name]: value })}
        />
      ))}
      {filters.length > 0 && (
        <button
          type="button"
          className="quiet"
          onClick={() => change(Object.fromEntries(filters.map((name) => [name, undefined])))}
        >
          Clear
        </button>
      )}
    </div>
  )
}

/** Searches when the typing pauses. */
function SearchField({ text, onChange }: { readonly text: string; readonly onChange: (text: string) => void }) {
  const [typed, setTyped] = useState(text)
  const [known, setKnown] = useState(text)
  // The address was changed by other means, such as the browser's back button.
  if (known !== text) {
    setKnown(text)
    setTyped(text)
  }
  // The function differs in each rendering, which must not restart the pause.
  const latest = useRef(onChange)
  useEffect(() => {
    latest.current = onChange
  })
  useEffect(() => {
    if (typed === text) return undefined
    const timer = setTimeout(() => latest.current(typed), TYPING_MS)
    return () => clearTimeout(timer)
  }, [typed, text])
  return (
    <TextInput
      size="xs"
      type="search"
      aria-label="Search name, MAC, serial or model"
      placeholder="Name, MAC, serial or model"
      value={typed}
      onChange={({ currentTarget: { value } }) => setTyped(value)}
    />
  )
}

/** A value from the address is shown even if no device has it. */
function withCurrent(choices: readonly Choice[], current: string | undefined): readonly Choice[] {
  if (current === undefined || choices.some(({ value }) => value === current)) return choices
  return [...choices, { value: current, label: current }]
}

function withoutEmpty(search: Readonly<Record<string, unknown>>): DeviceSearch {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined && value !== ''))
}
