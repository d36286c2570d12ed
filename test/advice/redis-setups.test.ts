// The newest versions of the lock file. `npm run check:runtimes` does the same on the lowest.
import * as ioredis from "ioredis";
import * as ioredis6 from "ioredis6";
import * as iovalkey from "iovalkey";
import * as redis from "redis";
import * as redis6 from "redis6";
import { describeWith } from "../helpers/services.js";
import { ioredisAdvised, nodeRedisAdvised } from "./redis-clients.js";
import { redisSetupSuite } from "./redis-setups.js";

describeWith("redis-server", "settings with which a store can never work", () => {
  redisSetupSuite(ioredisAdvised("ioredis 5", ioredis));
  redisSetupSuite(ioredisAdvised("ioredis 6", ioredis6 as never));
  redisSetupSuite(ioredisAdvised("iovalkey", iovalkey as never));
  redisSetupSuite(nodeRedisAdvised("redis 5", redis));
  redisSetupSuite(nodeRedisAdvised("redis 6", redis6 as never));
});
