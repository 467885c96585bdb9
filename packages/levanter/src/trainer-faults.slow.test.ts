import { testTrainingFaults } from "../test/training-fault-tests.js";

testTrainingFaults("every fourth", 4);
