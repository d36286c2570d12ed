// What real servers answer to scripts that they refuse, and to those that fail half-way.
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { crossSlotScript, isRefusedWhole, isUnsupported } from "../../../../src/stores/redis/cluster/cross-slot.js";
import { startRedis, replicate, type OwnRedis } from "../../../helpers/own-redis.js";
import { describeWith } from "../../../helpers/services.js";

describeWith("redis-server", "a script for several slots", () => {
  let server: OwnRedis;
  let replica: OwnRedis;
  let client: Redis;
  beforeAll(async () => {
    [server, replica] = await Promise.all([startRedis(), startRedis(["--repl-diskless-sync-delay", "0"])]);
    client = new Redis(server.port);
    await replicate(server, replica);
  });
  afterAll(async () => {
    client.disconnect();
    await Promise.all([server.stop(), replica.stop()]);
  });

  /** The error that the server answers to a script. */
  const errorOf = async (script: string, on = client): Promise<Error> => {
    try {
      await on.eval(script, 0, "a", "1");
    } catch (error) {
      return error as Error;
    }
    throw new Error("Expected an error");
  };

  describe("is not supported", () => {
    test.each([
      ["where a script cannot begin with #!, as before Redis 7", "#lua flags=allow-cross-slot-keys\nreturn 1", "Error compiling script"],
      ["where the flag is unknown", crossSlotScript().replace("allow-cross-slot-keys", "allow-more"), "Unexpected flag in script shebang"],
      ["where the language is unknown", crossSlotScript().replace("#!lua", "#!js"), "engine"],
    ])("%s", async (_, script, message) => {
      const error = await errorOf(script);
      expect(error.message).toContain(message);
      expect([isUnsupported(error), isRefusedWhole(error)]).toEqual([true, false]);
    });

    test("where the user may not call EVAL", async () => {
      await client.acl("SETUSER", "limits", "on", ">secret", "~*", "+@all", "-eval");
      const limited = new Redis({ port: server.port, username: "limits", password: "secret" });
      expect(isUnsupported(await errorOf(crossSlotScript(), limited))).toBe(true);
      limited.disconnect();
    });
  });

  describe("is refused whole, and nothing was changed,", () => {
    test("on a replica, and in a full memory", async () => {
      const there = new Redis(replica.port);
      const readonly = await errorOf(crossSlotScript(), there);
      there.disconnect();
      await client.config("SET", "maxmemory", "1");
      const full = await errorOf(crossSlotScript());
      await client.config("SET", "maxmemory", "0");
      for (const [error, code] of [[readonly, "READONLY"], [full, "OOM"]] as const) {
        expect(error.message).toMatch(new RegExp(`^${code}`));
        expect([isUnsupported(error), isRefusedWhole(error)]).toEqual([false, true]);
      }
    });
  });

  test("that failed half-way is neither: some of its writes may be done", async () => {
    const errors = [await errorOf("redis.call('SET', 'x', 1) return redis.call('INCR', 'x', 2)"), await errorOf("redis.call('SET', 'x', 1) error('no')")];
    await client.config("SET", "maxmemory", "1");
    errors.push(await errorOf("return redis.call('SET', 'x', 1)"));
    await client.config("SET", "maxmemory", "0");
    for (const error of errors) expect([error.message, isUnsupported(error), isRefusedWhole(error)]).toEqual([error.message, false, false]);
    for (const message of ["ERR Error running script (call to f_1): @user_script:12: no", "Connection is closed.", "Command timed out"]) {
      expect([isUnsupported(new Error(message)), isRefusedWhole(new Error(message))]).toEqual([false, false]);
    }
  });
});
