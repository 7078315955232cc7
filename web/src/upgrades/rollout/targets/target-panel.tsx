import { Link, useNavigate, useRouter } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useMemo, useRef } from 'react'
import { macText } from '../../../devices/device.ts'
import { counted, grouped } from '../../../display/texts/counted.ts'
import { capital } from '../../../display/texts/capital.ts'
import { EmptyState } from '../../../display/layout/notices.tsx'
import { Panel } from '../../../display/layout/panel.tsx'
import { RowName, RowScope } from '../../../display/layout/row.tsx'
import { StateMark } from '../../../display/state-mark.tsx'
import { type Report, type Target, reasonOf, targetStates, targetText } from '../../upgrade.ts'
import type { Site } from '../../../orgs/sites.ts'
import { kinds } from '../../overview.ts'
import { causeText } from '../../../display/texts/cause-text.ts'
import { useTextZone } from '../../../display/times/text-zone.ts'
import { groupTargets, selectTargets, targetsAt } from './group-targets.ts'
import type { UpgradePlace } from '../../calls.ts'
import { type ExclusionDone, useExclusion } from '../../exclude-button.tsx'
import { excludableOf } from '../../exclusion.ts'
import { plainText } from '../../linked-text.ts'
import { UpgradeText } from '../../upgrade-text.tsx'
import { ExcludeTargets } from './exclude-targets.tsx'
import { TargetTimeline } from './target-timeline.tsx'
import type { TargetSearch } from './target-search.ts'

interface TargetPanelProps {
  readonly place: UpgradePlace
  readonly report: Report
  readonly search: TargetSearch
  readonly sites: ReadonlyMap<string, Site> | undefined
  readonly mayWrite: boolean
  readonly onDone: () => Promise<void>
}

/** The devices by state, failures first and by cause; a choice of them, and the timeline of one. */
export function TargetPanel({ place, report, search, sites, mayWrite, onDone }: TargetPanelProps) {
  const navigate = useNavigate({ from: '/orgs/$orgId/upgrades/$upgradeId' })
  const { history } = useRouter()
  const zone = useTextZone()
  const opened = report.devices.find(({ mac }) => mac === search.device)
  const isOpenedHere = useRef(false)
  // The way back in the browser closes the dialog, as people expect on a phone, and closing it goes that way.
  const open = (device: string): void => {
    isOpenedHere.current = true
    void navigate({ search: (others) => ({ ...others, device }), resetScroll: false })
  }
  const close = (): void => {
    if (isOpenedHere.current) history.back()
    else void navigate({ search: ({ device: _, ...others }) => others, replace: true, resetScroll: false })
    isOpenedHere.current = false
  }
  const known = useMemo(() => targetsAt(report.devices, search.at), [report.devices, search.at])
  const groups = useMemo(() => groupTargets(known), [known])
  const targets = useMemo(() => selectTargets(known, search), [known, search])
  const excludable = useMemo(() => (mayWrite ? excludableOf(report, targets) : []), [mayWrite, report, targets])
  const isChosen = search.state !== undefined || search.at !== undefined
  const [note, excluded] = useExclusion(onDone)
  const siteNames = useMemo(
    () => new Map(report.sites.map(({ site_id: id, site_name: name = 'A deleted site' }) => [id, name])),
    [report.sites],
  )
  return (
    <Panel title={kinds[place.kind].text} aside={search.at === undefined ? report.total : known.length}>
      {search.at !== undefined && (
        <p className="plan-line" role="status">
          Only those at {siteNames.get(search.at) ?? 'one site'}.{' '}
          <Link
            to="/orgs/$orgId/upgrades/$upgradeId"
            params={{ orgId: place.orgId, upgradeId: place.upgradeId }}
            search={({ at: _, ...others }) => others}
            replace
            resetScroll={false}
          >
            Show those of all sites
          </Link>
        </p>
      )}
      <nav className="chips" aria-label={`${kinds[place.kind].text} by state`}>
        <GroupLink place={place} isCurrent={search.state === undefined} search={{}}>
          All
        </GroupLink>
        {groups.map(({ status, cause, count }) => (
          <GroupLink
            key={`${status} ${cause}`}
            place={place}
            isCurrent={search.state === status && (search.cause ?? '') === cause}
            search={{ state: status, ...(cause !== '' && { cause }) }}
          >
            <StateMark tone={targetStates[status].tone}>{targetStates[status].text}</StateMark>
            {cause !== '' && <span className="chip-cause">{plainText(causeText(cause, zone))}</span>}
            <span className="chip-count">{grouped(count)}</span>
          </GroupLink>
        ))}
      </nav>
      {note}
      {isChosen && excludable.length > 0 && excludable.length <= MAX_EXCLUDED && (
        <p className="plan-line">
          <ExcludeTargets
            place={place}
            targets={excludable}
            action={`Exclude ${counted(excludable.length, kinds[place.kind].unit)}`}
            onDone={excluded}
          />
        </p>
      )}
      {targets.length === 0 ? (
        <EmptyState title={`No ${kinds[place.kind].unit} is in this state`}>
          The last one may have left it a moment ago. Choose another state above.
        </EmptyState>
      ) : (
        <TargetRows
          unit={kinds[place.kind].unit}
          targets={targets}
          siteNames={siteNames}
          onOpen={({ mac }) => open(mac)}
          place={place}
          excludable={excludable}
          onDone={excluded}
        />
      )}
      {opened !== undefined && (
        <TargetTimeline
          place={place}
          mac={opened.mac}
          title={opened.name === undefined ? macText(opened.mac) : `${opened.name}, ${macText(opened.mac)}`}
          zone={sites?.get(opened.site_id)?.timezone}
          onClose={close}
          device={
            <Link
              to="/orgs/$orgId/sites/$siteId/devices/$mac"
              params={{ orgId: place.orgId, siteId: opened.site_id, mac: opened.mac }}
            >
              Open the device
            </Link>
          }
        />
      )}
    </Panel>
  )
}

interface GroupLinkProps {
  readonly place: UpgradePlace
  readonly isCurrent: boolean
  readonly search: TargetSearch
  readonly children: React.ReactNode
}

function GroupLink({ place, isCurrent, search, children }: GroupLinkProps) {
  return (
    <Link
      to="/orgs/$orgId/upgrades/$upgradeId"
      params={{ orgId: place.orgId, upgradeId: place.upgradeId }}
      search={({ site, at }) => ({
        ...search,
        ...(site !== undefined && { site }),
        ...(at !== undefined && { at }),
      })}
      replace
      resetScroll={false}
      className="chip"
      data-current={isCurrent || undefined}
      aria-current={isCurrent ? 'true' : undefined}
    >
      {children}
    </Link>
  )
}

/** As many as one request names. */
const MAX_EXCLUDED = 10_000

/** In narrow windows a row with a cause is higher. */
const ROW_PX = 34
const MAX_HEIGHT_PX = 380

interface TargetRowsProps {
  readonly unit: string
  readonly targets: readonly Target[]
  readonly siteNames: ReadonlyMap<string, string>
  readonly onOpen: (target: Target) => void
  readonly place: UpgradePlace
  readonly excludable: readonly Target[]
  readonly onDone: ExclusionDone
}

function TargetRows({ unit, targets, siteNames, onOpen, place, excludable, onDone }: TargetRowsProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const isExcludable = useMemo(() => new Set(excludable), [excludable])
  const virtual = useVirtualizer({
    count: targets.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
    getItemKey: (index) => targets[index]?.mac ?? index,
  })
  return (
    <div
      className="target-scroller"
      ref={scroller}
      style={{ height: Math.min(MAX_HEIGHT_PX, virtual.getTotalSize()) }}
      tabIndex={0}
      role="region"
      aria-label={`${capital(unit)} rows`}
    >
      <ol className="targets" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, key, start }) => {
          const target = targets[index]
          if (target === undefined) return null
          return (
            <li
              key={key}
              ref={virtual.measureElement}
              data-index={index}
              className="target-row"
              style={{ transform: `translateY(${start}px)` }}
            >
              <RowScope>
                <TargetButton target={target} onOpen={onOpen} />
                <StateMark tone={targetStates[target.status].tone}>{targetStates[target.status].text}</StateMark>
                <span>{siteNames.get(target.site_id)}</span>
                <span className="wide muted">{target.model}</span>
                <span className="wide muted">{(target.phase ?? 0) > 0 ? `Phase ${target.phase}` : ''}</span>
                <Outcome orgId={place.orgId} target={target} />
                {isExcludable.has(target) && (
                  <ExcludeTargets
                    place={place}
                    targets={[target]}
                    action="Exclude"
                    name={targetText(target)}
                    onDone={onDone}
                  />
                )}
              </RowScope>
            </li>
          )
        })}
      </ol>
    </div>
  )
}

/** Devices that were left out have no timeline in the upgrade. */
function TargetButton({ target, onOpen }: { readonly target: Target; readonly onOpen: (target: Target) => void }) {
  if (target.status === 'left_out') return <span title={macText(target.mac)}>{targetText(target)}</span>
  return (
    <button type="button" className="row-button" onClick={() => onOpen(target)} title={macText(target.mac)}>
      <RowName>{targetText(target)}</RowName>
    </button>
  )
}

/** Narrow windows show only causes. */
function Outcome({ orgId, target }: { readonly orgId: string; readonly target: Target }) {
  const zone = useTextZone()
  const reason = reasonOf(target)
  if (reason === undefined) return <span className="wide muted">{versionsOf(target)}</span>
  return (
    <span className="target-reason">
      <UpgradeText orgId={orgId} text={causeText(reason, zone)} />
    </span>
  )
}

function versionsOf({ from_version: from, version }: Target): string {
  return from === undefined || version === undefined ? '' : `${from} → ${version}`
}
