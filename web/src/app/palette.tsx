import { Modal, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import { answerOf, useServer } from '../api/client.ts'
import { ProblemNote } from '../display/layout/notices.tsx'
import { macText } from '../devices/device.ts'
import { useSites } from '../orgs/sites.ts'
import { useOrgPages } from './org-pages.ts'

const SHOWN = 8
const TYPING_MS = 150

interface Entry {
  readonly kind: string
  readonly label: string
  readonly href: string
}

/** Leads to pages, sites and devices by their names: Ctrl or Command, and K. */
export function Palette({ orgId }: { readonly orgId: string }) {
  const [isOpen, setOpen] = useState(false)
  const focused = useRef<Element>(null)
  const open = (): void => {
    focused.current = document.activeElement
    setOpen(true)
  }
  const close = (): void => {
    setOpen(false)
    if (focused.current instanceof HTMLElement) focused.current.focus()
  }
  useEffect(() => {
    const listen = (event: globalThis.KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      if (isOpen) close()
      else open()
    }
    document.addEventListener('keydown', listen)
    return () => document.removeEventListener('keydown', listen)
  })
  return (
    <>
      <button type="button" className="quiet" onClick={open}>
        Go to… <kbd>Ctrl K</kbd>
      </button>
      {/* The dialog would return the focus to its own input, which has it before the dialog looks. */}
      <Modal opened={isOpen} onClose={close} returnFocus={false} title="Go to" lockScroll={false} size="md">
        <PaletteSearch orgId={orgId} onDone={() => setOpen(false)} />
      </Modal>
    </>
  )
}

function PaletteSearch({ orgId, onDone }: { readonly orgId: string; readonly onDone: () => void }) {
  const router = useRouter()
  const listId = useId()
  const input = useRef<HTMLInputElement>(null)
  // The dialog would focus it only after the fade-in, but people type immediately.
  useEffect(() => input.current?.focus(), [])
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const { entries, problem } = useEntries(orgId, text)
  const current = Math.min(chosen, entries.length - 1)
  const go = (entry: Entry | undefined): void => {
    if (entry === undefined) return
    onDone()
    router.history.push(entry.href)
  }
  const press = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Enter') go(entries[current])
    else if (step === undefined) return
    else setChosen((current + step + entries.length) % Math.max(1, entries.length))
    event.preventDefault()
  }
  return (
    <>
      <TextInput
        ref={input}
        aria-label="Page, site or device"
        placeholder="Page, site or device"
        role="combobox"
        aria-expanded
        aria-controls={listId}
        {...(entries.length > 0 && { 'aria-activedescendant': `${listId}-${current}` })}
        data-autofocus
        value={text}
        onChange={({ currentTarget: { value } }) => {
          setText(value)
          setChosen(0)
        }}
        onKeyDown={press}
      />
      <div id={listId} role="listbox" aria-label="Places" className="palette">
        {entries.map((entry, index) => (
          <button
            key={entry.href}
            type="button"
            id={`${listId}-${index}`}
            role="option"
            aria-selected={index === current}
            tabIndex={-1}
            onClick={() => go(entry)}
          >
            {entry.label} <span className="muted">{entry.kind}</span>
          </button>
        ))}
      </div>
      <ProblemNote problem={problem} />
      {entries.length === 0 && problem === null && <p className="hint">Nothing has this name.</p>}
    </>
  )
}

interface Found {
  readonly entries: readonly Entry[]
  /** Why some of them are missing. */
  readonly problem: Error | null
}

function useEntries(orgId: string, text: string): Found {
  const wanted = text.trim().toLowerCase()
  const isWanted = ({ label }: Pick<Entry, 'label'>): boolean => label.toLowerCase().includes(wanted)
  const pages = useOrgPages(orgId).map(({ to, label }) => ({ kind: 'page', label, href: to.replace('$orgId', orgId) }))
  const { data, error } = useSites(orgId)
  const sites = [...(data?.values() ?? [])].map(({ id, name }) => {
    return { kind: 'site', label: name, href: `/orgs/${orgId}/sites/${id}` }
  })
  const devices = useDevices(orgId, wanted)
  const known = wanted === '' ? pages : [...pages, ...sites].filter(isWanted)
  return { entries: [...known.slice(0, SHOWN), ...devices.entries], problem: devices.problem ?? error }
}

function useDevices(orgId: string, wanted: string): Found {
  const { api } = useServer()
  const [asked, setAsked] = useState('')
  useEffect(() => {
    const timer = setTimeout(() => setAsked(wanted), TYPING_MS)
    return () => clearTimeout(timer)
  }, [wanted])
  const { data, error } = useQuery({
    queryKey: ['palette devices', orgId, asked],
    queryFn: () =>
      answerOf(
        api.GET('/api/v1/orgs/{org_id}/inventory/search', {
          params: { path: { org_id: orgId }, query: { text: asked, type: 'all', limit: SHOWN } },
        }),
      ),
    enabled: asked !== '',
    // The previous results stay during a search.
    placeholderData: (former) => former,
  })
  if (wanted === '') return { entries: [], problem: null }
  const entries = (data?.results ?? []).flatMap(({ mac, name, site_id: siteId }) =>
    siteId === undefined
      ? []
      : [{ kind: 'device', label: name || macText(mac), href: `/orgs/${orgId}/sites/${siteId}/devices/${mac}` }],
  )
  return { entries, problem: error }
}
