import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { anyOf, json } from '../../../src/platform/database/db.ts'
import { cancelOrgUpgrade } from '../../../src/upgrades/changes/cancel-org-upgrade.ts'
import { findLeftOut, getReported } from '../../../src/upgrades/reports/store.ts'
import { NEW, type SeededDevice } from '../../support/fleets/fleet.ts'
import { useJoining } from './joining.ts'

const { rollout, look, move, begin, countOfUpgrade, searches } = useJoining()

/** Sorts before every id. */
const NO_ID = '00000000-0000-0000-0000-000000000000'

describe('devices that make the search of an upgrade with include_new fail', () => {
  it('are passed by, and noted until they join; the others join at once', async () => {
    await rollout.seed([2, 14])
    const { id } = await begin()
    await move(rollout.devices(1), 0)
    const ids = rollout.devices(1).toSorted((a, b) => (a.id < b.id ? -1 : 1))
    const failing = ids.slice(2, 13)
    const reports = (capabilities: unknown) =>
      rollout.ctx.db
        .updateTable('deviceStatus')
        .set({ capabilities: json(capabilities) as never })
        .where('deviceId', '=', anyOf(failing.map((device) => device.id)))
        .execute()
    await reports({ commands: null })
    const notes = async () => (await rollout.read(id)).siteUpgrades.flatMap((part) => part.notes)
    const reason = 'could not be taken in: an internal error'
    const noted = failing.map(({ mac }) => ({ mac, reason }))
    await look()
    // One search passes a few by, and the next one goes on behind them.
    expect([await countOfUpgrade(id), await notes()]).toEqual([
      { upgraded: 1, deferred: 1, planned: 2 },
      noted.slice(0, 10),
    ])
    await look()
    expect([await countOfUpgrade(id), await notes()]).toEqual([{ upgraded: 1, deferred: 1, planned: 3 }, noted])
    await reports(ids[0]?.capabilities)
    await look()
    expect([await countOfUpgrade(id), await notes()]).toMatchObject([{ planned: 14 }, []])
  })

  it('do not include those that join in a transaction that fails for another reason', async () => {
    await rollout.seed([2, 2])
    const { id } = await begin()
    await move(rollout.devices(1), 0)
    const { db } = rollout.ctx
    await sql`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception 'No such column'; end $$
    `.execute(db)
    await sql`create trigger refuse before insert on upgrade_target execute function refuse()`.execute(db)
    await look()
    const notes = async () => (await rollout.read(id)).siteUpgrades.flatMap((part) => part.notes)
    expect([await countOfUpgrade(id), await notes()]).toEqual([{ upgraded: 1, deferred: 1 }, []])
    await sql`drop trigger refuse on upgrade_target`.execute(db)
    await look()
    expect([await countOfUpgrade(id), await notes()]).toEqual([{ upgraded: 1, deferred: 1, planned: 2 }, []])
  })

  it.each([
    ['where they were', 0],
    ['at another site', 1],
  ])(
    'are looked at once more after another upgrade had them, %s, and keep no upgrade searching that has ended',
    async (_, site) => {
      await rollout.seed([1, 1])
      const [device] = rollout.devices(0)
      if (device === undefined) throw new Error('no device')
      const sites = { site_ids: rollout.org.sites.map(({ id }) => id), all_sites: false }
      const other = await rollout.create(sites)
      const { id } = await rollout.create({ ...sites, include_new: true })
      await move([device], site)
      await rollout.ctx.db
        .updateTable('deviceStatus')
        .set({ capabilities: json({ commands: null }) as never })
        .where('deviceId', '=', device.id)
        .execute()
      await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, other.id)
      await rollout.play()
      await look()
      await rollout.play()
      await look()
      await look()
      const failure = { mac: device.mac, reason: 'could not be taken in: an internal error' }
      const noted = (await rollout.read(id)).siteUpgrades.flatMap(({ notes }) => notes)
      expect(noted.filter(({ mac }) => mac === device.mac)).toEqual([failure])
      expect(await searches(id)).toBe(false)
    },
  )

  it.each([false, true])(
    'have their former notes again once they can not be upgraded (awaited: %s)',
    async (isAwaited) => {
      await rollout.seed([2])
      const [device, absent] = rollout.devices(0)
      if (device === undefined || absent === undefined) throw new Error('no devices')
      const { db } = rollout.ctx
      const reports = (capabilities: unknown) =>
        db
          .updateTable('deviceStatus')
          .set({ capabilities: json(capabilities) as never })
          .where('deviceId', '=', device.id)
          .execute()
      const reason = 'has no room for an image'
      const unable = { ...device.capabilities, commands: [], refusals: { upgrade: reason } }
      await rollout.fleet.disconnect([absent])
      const other = isAwaited ? await rollout.create({ models: [device.model] }) : null
      if (other === null) await reports(unable)
      const { id } = await rollout.create({ include_new: true })
      if (other !== null) await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, other.id)
      await rollout.advance()
      const notes = async () => (await rollout.read(id)).siteUpgrades.flatMap((part) => part.notes)
      const leftOut = async () => {
        const upgrade = await getReported(db, rollout.org.scope, id)
        return (await findLeftOut(db, rollout.org.scope, { upgrade, after: NO_ID }))?.devices
      }
      await reports({ commands: null })
      await look()
      const failure = { mac: device.mac, reason: 'could not be taken in: an internal error' }
      expect([await notes(), await leftOut()]).toMatchObject([[failure], [failure]])
      await reports(unable)
      await look()
      const note = { mac: device.mac, reason }
      expect([await notes(), await leftOut()]).toMatchObject([[note], [note]])
    },
  )

  it('are forgotten once they are elsewhere, have the version or are gone, and a hundred are named', async () => {
    await rollout.seed([2, 4, 1])
    const { id } = await begin({ site_ids: [0, 2].map((site) => rollout.org.sites[site]?.id ?? '') })
    const [moves, leaves, right, released] = rollout.devices(1)
    if (moves === undefined || leaves === undefined || right === undefined || released === undefined)
      throw new Error('no devices')
    const failing = [moves, leaves, right, released]
    await move(failing, 0)
    const { db } = rollout.ctx
    const reports = (devices: readonly SeededDevice[], capabilities: unknown) =>
      db
        .updateTable('deviceStatus')
        .set({ capabilities: json(capabilities) as never })
        .where('deviceId', '=', anyOf(devices.map((device) => device.id)))
        .execute()
    await reports(failing, { commands: null })
    await look()
    const notes = async () => (await rollout.read(id)).siteUpgrades.map((part) => part.notes)
    const reason = 'could not be taken in: an internal error'
    const noted = failing.map(({ mac }) => ({ mac, reason })).toSorted((a, b) => (a.mac < b.mac ? -1 : 1))
    expect(await notes()).toEqual([noted, []])
    const upgradeId = (await rollout.read(id)).siteUpgrades[0]?.id ?? ''
    const leftOut = async () => {
      const upgrade = await getReported(db, rollout.org.scope, id)
      const site = await findLeftOut(db, rollout.org.scope, { upgrade, after: NO_ID })
      return site?.devices.length
    }
    await sql`
      insert into upgrade_joining_failure
      select org_id, id, lpad('f' || n::text, 32, 'f')::uuid, 'f' || n, ${reason} from site_upgrade, generate_series(1, 98) n
      where id = ${upgradeId}`.execute(db)
    expect((await notes())[0]?.slice(0, 2)).toEqual([{ reason: '2 further devices could not be taken in' }, noted[0]])
    expect([(await notes())[0]?.length, await leftOut()]).toEqual([101, 102])
    // A report has the targets of the plan as such, also those that it skipped and that can't join.
    await sql`
      insert into upgrade_joining_failure
      select org_id, upgrade_id, device_id, mac, ${reason} from upgrade_target where upgrade_id = ${upgradeId}`.execute(
      db,
    )
    expect(await leftOut()).toBe(102)
    await move([moves], 2)
    await move([leaves], 1)
    await reports([right], right.capabilities)
    await rollout.fleet.connect([right], NEW)
    await db.deleteFrom('device').where('id', '=', released.id).execute()
    await look()
    expect(await notes()).toEqual([[], [{ mac: moves.mac, reason }]])
    await reports([moves], moves.capabilities)
    await look()
    expect([await notes(), await countOfUpgrade(id)]).toMatchObject([[[], []], { planned: 1 }])
  })
})
