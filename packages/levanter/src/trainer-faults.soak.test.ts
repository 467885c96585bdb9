import { testTrainingFaults } from "../test/training-fault-tests.js";

testTrainingFaults("any", 1);
